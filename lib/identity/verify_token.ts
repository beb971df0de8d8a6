/** Verifies a signed token (JWT) of one issuer. Used for people behind a proxy and for CI jobs at the gate. */
import { JOSEError } from "jose/errors";
import { jwtVerify } from "jose/jwt/verify";
import type { JWTHeaderParameters, JWTPayload } from "jose";
import type { Clock } from "../kit/platform.ts";
import type { Algorithm } from "./issuer_fields.ts";
import type { FindKey } from "./key_set.ts";
import { TokenRejected } from "./token_rejected.ts";

/** Maximum number of characters of a token; Node accepts at most 16 KiB of headers. */
const MAX_TOKEN_LENGTH = 16_384;
/** Seconds by which the issuer's clock may differ from ours. */
export const CLOCK_TOLERANCE_S = 30;

/** Rules for the tokens of one issuer, and the keys that sign them. */
export interface TokenRules {
  issuer: string;
  /** One of these must be among the token's audiences. */
  audience: string | readonly string[];
  algorithms: readonly Algorithm[];
  findKey: FindKey;
  clock: Pick<Clock, "now">;
}

/** Claims of a verified token. */
export type Claims = JWTPayload;

/** Resolves with the claims of a token that is valid now. Errors: `TokenRejected`. */
export async function verifyToken(token: string, rules: TokenRules): Promise<Claims> {
  const { issuer, audience, ...signing } = rules;
  const { payload } = await verifySigned(token, signing, {
    issuer,
    audience: typeof audience === "string" ? audience : [...audience],
    requiredClaims: ["exp"],
  });
  return payload;
}

/** Verifies the signature, the times and the claims in `checks`. Errors: `TokenRejected`. */
export async function verifySigned(
  token: string,
  { algorithms, findKey, clock }: Pick<TokenRules, "algorithms" | "findKey" | "clock">,
  checks: { issuer?: string; audience?: string | string[]; requiredClaims?: string[] } = {},
): Promise<{ payload: Claims; protectedHeader: JWTHeaderParameters }> {
  if (token.length > MAX_TOKEN_LENGTH) throw new TokenRejected(`it has more than ${MAX_TOKEN_LENGTH} characters`);
  const now = clock.now();
  try {
    const verified = await jwtVerify(
      token,
      (header, signed) => {
        rejectHeader(header);
        return findKey(header, signed);
      },
      { ...checks, algorithms: [...algorithms], clockTolerance: CLOCK_TOLERANCE_S, currentDate: new Date(now) },
    );
    rejectFutureToken(verified.payload, now);
    return verified;
  } catch (error) {
    if (error instanceof TokenRejected) throw error;
    // A key or claim of a shape that Web Crypto or jose does not expect ends here too.
    throw new TokenRejected(error instanceof JOSEError ? error.message : "it cannot be verified");
  }
}

/** Rejects extensions, and tokens that the issuer signs for another purpose, such as log-outs. */
function rejectHeader({ crit, typ }: JWTHeaderParameters): void {
  if (crit !== undefined) throw new TokenRejected("its header has crit, and no extension is known here");
  if (typ !== undefined && !/^(?:application\/)?jwt$/i.test(String(typ)))
    throw new TokenRejected("its header has a typ other than JWT");
}

function rejectFutureToken({ iat }: Claims, now: number): void {
  if (iat !== undefined && !(iat <= now / 1000 + CLOCK_TOLERANCE_S))
    throw new TokenRejected("it was issued in the future (iat)");
}

/** Returns the issuer that an unverified token claims; use it only to select the rules. */
export function readClaimedIssuer(token: string): string | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  try {
    const { iss } = JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/"))) as Claims;
    return typeof iss === "string" ? iss : undefined;
  } catch {
    return undefined;
  }
}
