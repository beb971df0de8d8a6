/** Verifies the signed token of a proxy and reads the person from it. */
import type { Clock } from "../kit/platform.ts";
import type { Fetch } from "./fetch_keys.ts";
import type { PersonTokenSettings } from "./identity_file.ts";
import { keyFinderById } from "./key_by_id.ts";
import { type FindKey, keySetFinder } from "./key_set.ts";
import { TokenRejected } from "./token_rejected.ts";
import { type Claims, CLOCK_TOLERANCE_S, verifySigned, verifyToken } from "./verify_token.ts";

/** A person whom a verified token names, with their groups at the identity provider. */
export interface VerifiedPerson {
  name: string;
  groups: readonly string[];
}

/** Verifies the token in a header. */
export interface PersonTokens {
  header: string;
  /** Errors: `TokenRejected`. */
  verify(token: string): Promise<VerifiedPerson>;
}

/** Returns a verifier with these settings; it caches the keys. */
export function personTokenVerifier(
  settings: PersonTokenSettings,
  {
    clock,
    fetch: send = (url, init) => fetch(url, init),
  }: {
    clock: Pick<Clock, "now">;
    fetch?: Fetch;
  },
): PersonTokens {
  const verify = tokenVerifier(settings, { clock, fetch: send });
  return { header: settings.header, verify: async (token) => readPerson(await verify(token), settings) };
}

type Ports = { clock: Pick<Clock, "now">; fetch: Fetch };

/** Returns a function that verifies tokens and resolves with their claims. */
function tokenVerifier(
  { issuer, audience, algorithms, jwks_url, signer }: PersonTokenSettings,
  ports: Ports,
): (token: string) => Promise<Claims> {
  const { clock } = ports;
  if (signer === undefined) {
    // Without `signer`, the identity file must name the issuer.
    const rules = { issuer: issuer!, audience, algorithms, clock, findKey: keySetFinder(jwks_url, ports) };
    return (token) => verifyToken(token, rules);
  }
  // The token of a load balancer of AWS has issuer, audience and expiry in its header, and is signed with one algorithm.
  const findById = keyFinderById(jwks_url, algorithms[0]!, ports);
  const rules: HeaderRules = { issuer, audience: [audience].flat(), signer };
  const findKey: FindKey = (fields, signed) => {
    // Checked before a key is fetched, since anybody can send a key id.
    verifyHeader(fields, rules, clock.now());
    return findById(fields, signed);
  };
  return async (token) => (await verifySigned(token, { algorithms, clock, findKey })).payload;
}

interface HeaderRules {
  issuer: string | undefined;
  audience: readonly string[];
  signer: string;
}

/** Verifies the fields that a load balancer of AWS puts into the token's signed header. Errors: `TokenRejected`. */
function verifyHeader(
  fields: Readonly<Record<string, unknown>>,
  { issuer, audience, signer }: HeaderRules,
  now: number,
): void {
  const { client, exp, iss } = fields;
  if (fields["signer"] !== signer) throw new TokenRejected("its signer is another load balancer");
  if (typeof client !== "string" || !audience.includes(client))
    throw new TokenRejected("its client is another application");
  if (issuer !== undefined && iss !== issuer) throw new TokenRejected("its iss is another issuer");
  if (typeof exp !== "number" || exp <= now / 1000 - CLOCK_TOLERANCE_S) throw new TokenRejected("it has expired (exp)");
}

/** Returns the person in verified claims. Errors: `TokenRejected`. */
function readPerson(claims: Claims, { name_claim, groups_claim }: PersonTokenSettings): VerifiedPerson {
  const name = findClaim(claims, claimPath(name_claim));
  if (typeof name !== "string" || name.trim() === "") throw new TokenRejected(`it names nobody in ${name_claim}`);
  if (isUnverified(claims, claimPath(name_claim)))
    throw new TokenRejected("its email is not verified (email_verified)");
  const groups = groups_claim === undefined ? [] : [findClaim(claims, claimPath(groups_claim))].flat();
  return { name, groups: groups.filter((group) => typeof group === "string") };
}

/** Returns the steps to a claim: its name, or a path through objects such as `/custom/groups`. */
const claimPath = (name: string): string[] => (name.startsWith("/") ? name.slice(1).split("/") : [name]);

/** Returns true for an `email` whose object, or the token itself, has a false `email_verified`. */
function isUnverified(claims: Claims, path: readonly string[]): boolean {
  if (path.at(-1) !== "email") return false;
  return [["email_verified"], [...path.slice(0, -1), "email_verified"]].some(
    (flag) => String(findClaim(claims, flag)).toLowerCase() === "false",
  );
}

/** Returns the claim at a path, or `undefined`. */
function findClaim(claims: Claims, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}
