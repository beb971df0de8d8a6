/** Verifies a proof of a statement with the keys of its claimed signer. */
import { toBase64 } from "../../kit/base64.ts";
import { parseSshMaterial } from "../rules/key_material.ts";
import type { Key, SshKey } from "../rules/keys.ts";
import type { KnownKey } from "../rules/signing.ts";
import type { Proof } from "../rules/proof.ts";
import { findSigner, findSshProblem } from "./ssh_signature.ts";
import { checkAssertion } from "./webauthn.ts";

/** The key that signed, or the reason why no key did. */
export type VerifiedProof = { key: KnownKey } | { invalid: string };

/** Verifies a proof with the keys of a name. No proof, key or statement makes it throw. */
export async function verifyProof(proof: Proof, statement: string, keys: readonly KnownKey[]): Promise<VerifiedProof> {
  const bytes = new TextEncoder().encode(statement);
  const signer = proof.type === "ssh" ? findSigner(proof.signature) : undefined;
  if (proof.type === "ssh" && !signer) return { invalid: "it is no SSH signature that can be read" };
  const key = keys.find((candidate) => isSigningKey(proof, candidate, signer));
  if (!key) return { invalid: "it is of no key that the intent lists under this name" };
  // `isSigningKey` has matched the types of proof and key.
  const problem =
    proof.type === "webauthn" && key.type === "webauthn"
      ? await checkAssertion(proof, key, bytes)
      : await findSshProblem(proof.signature, key as SshKey, bytes);
  return problem === undefined ? { key } : { invalid: problem };
}

/** Returns true for the key that a proof names; `signer`: the public key in an SSH signature. */
const isSigningKey = (proof: Proof, key: Key, signer: string | undefined): boolean =>
  proof.type === "webauthn"
    ? key.type === "webauthn" && key.credential_id === proof.credential_id
    : key.type === "ssh" && toBase64(parseSshMaterial(key.public_key)!.blob) === signer;
