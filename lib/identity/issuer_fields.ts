/** Fields of an issuer in the files of `--identity-jwt` and `--gate-issuers`. */
import * as z from "zod";

/** Signature algorithms with a public key: with a shared secret, every verifier could sign. */
export const ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

const text = () =>
  z.string("must be text").min(1, "must not be empty").max(1_000, "must have at most 1,000 characters");

/** Returns true for https, and for http on this machine: over plain http anybody on the network could replace the keys. */
export function isSafeAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password, hash } = new URL(address);
  if (username !== "" || password !== "" || hash !== "") return false;
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}

/** Schemas of the fields by name. */
export const issuerFields = () => ({
  issuer: text(),
  audience: z.union(
    [text(), z.array(text()).min(1, "must name an audience").max(20)],
    "must be text, or a list of texts",
  ),
  algorithms: z
    .array(z.enum(ALGORITHMS, `must be among ${ALGORITHMS.join(", ")}`), "must be a list")
    .min(1, "must name an algorithm"),
  jwks_url: text().refine(
    isSafeAddress,
    "must be an https URL, or http on this machine, without a user name, password or #",
  ),
});
