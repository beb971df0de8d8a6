/** The file of `--gate-issuers`: issuers of the tokens with which CI jobs request a release. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Clock } from "../kit/platform.ts";
import type { Fetch } from "./fetch_keys.ts";
import { issuerFields } from "./issuer_fields.ts";
import { keySetFinder } from "./key_set.ts";
import { TokenRejected } from "./token_rejected.ts";
import { type Claims, readClaimedIssuer, type TokenRules, verifyToken } from "./verify_token.ts";

/** Facts of a request that a claim of the token may state. */
export const CLAIMED_FACTS = ["head", "environment", "repository_id"] as const;
type ClaimedFact = (typeof CLAIMED_FACTS)[number];

/** Schema of the file. */
export const gateIssuersSchema = once(() => {
  const claim = () => z.string("must be the name of a claim").min(1, "must not be empty").max(200).optional();
  const claims = z.strictObject({ head: claim(), environment: claim(), repository_id: claim() }, "must be an object");
  const issuer = z.strictObject({ ...issuerFields(), claims }, "must be an object");
  return z.strictObject({ issuers: z.array(issuer, "must be a list").min(1, "must name an issuer").max(20) });
});

/** Issuers of tokens, as the file names them. */
export type GateIssuers = z.output<ReturnType<typeof gateIssuersSchema>>["issuers"];

/** The file is malformed; the message names the field and its rule. */
export class GateIssuersInvalid extends Error {
  override readonly name = "GateIssuersInvalid";
}

/** Reads the JSON text of a file. Errors: `GateIssuersInvalid`. */
export function readGateIssuers(text: string): GateIssuers {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new GateIssuersInvalid("is not valid JSON");
  }
  const { data, error } = gateIssuersSchema().safeParse(value, { reportInput: true });
  if (error) throw new GateIssuersInvalid(describeIssue(error.issues[0]!));
  const { issuers } = data;
  const duplicate = issuers.find(({ issuer }, index) => issuers.findIndex((other) => other.issuer === issuer) < index);
  if (duplicate) throw new GateIssuersInvalid(`issuers: ${duplicate.issuer} is listed twice`);
  return issuers;
}

function describeIssue({ path, code, message, input, ...rest }: z.core.$ZodIssue): string {
  const at = path.join(".");
  if (code === "unrecognized_keys" && "keys" in rest)
    return `${at || "the file"} has an unknown field: ${String(rest.keys)}`;
  return `${at || "the file"} ${input === undefined ? "is required" : message}`;
}

/** Returns the first issuer that does not map every fact to a claim, and its first fact without one; undefined if all do. */
export function findUnmappedClaim(issuers: GateIssuers): { issuer: string; claim: ClaimedFact } | undefined {
  for (const { issuer, claims } of issuers)
    for (const claim of CLAIMED_FACTS) if (claims[claim] === undefined) return { issuer, claim };
  return undefined;
}

/** A verified token: its issuer, subject and CI run, and the facts of the request that the file maps to claims. */
export interface CiToken {
  iss: string;
  sub: string;
  run_id?: string | undefined;
  claimed: Partial<Record<ClaimedFact, string>>;
}

/** Verifies tokens of CI jobs. */
export interface GateTokens {
  issuers: GateIssuers;
  /** Errors: `TokenRejected`. */
  verify(token: string): Promise<CiToken>;
}

/** Returns the verifier of tokens of these issuers; keys are cached in it. */
export function gateTokenVerifier(
  issuers: GateIssuers,
  { clock, fetch: send = (url, init) => fetch(url, init) }: { clock: Pick<Clock, "now">; fetch?: Fetch },
): GateTokens {
  const rulesByIssuer = new Map(
    issuers.map(({ jwks_url, claims, ...rules }): [string, TokenRules & Pick<GateIssuers[number], "claims">] => [
      rules.issuer,
      { ...rules, claims, clock, findKey: keySetFinder(jwks_url, { clock, fetch: send }) },
    ]),
  );
  return {
    issuers,
    async verify(token) {
      const rules = rulesByIssuer.get(readClaimedIssuer(token) ?? "");
      if (!rules) throw new TokenRejected("its issuer is not in the file of --gate-issuers");
      const { claims, ...tokenRules } = rules;
      const payload = await verifyToken(token, tokenRules);
      const claimed = Object.fromEntries(
        Object.entries(claims).flatMap(([fact, name]) =>
          name === undefined ? [] : [[fact, readClaim(payload, name)]],
        ),
      );
      const { sub = "", run_id } = payload;
      if (typeof sub !== "string" || sub.length > 1_000 || !sub.isWellFormed())
        throw new TokenRejected("its sub is not text of at most 1,000 characters");
      // Not a required claim: a `run_id` of another form is left out.
      const isRunId = typeof run_id === "string" && /^[\w.:/-]{1,200}$/.test(run_id);
      return { iss: tokenRules.issuer, sub, ...(isRunId && { run_id }), claimed };
    },
  };
}

/** Returns a claim as text. Errors: `TokenRejected`. */
function readClaim(claims: Claims, name: string): string {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  throw new TokenRejected(`its claim ${name} is missing, or is neither text nor a whole number`);
}
