/** Verifies that a passkey signed a statement, with its owner present and verified. WebAuthn Level 2, section 7.2. */
import { decodeBase64Url, toBase64Url } from "../../kit/base64.ts";
import { JsonRejected, parseStrictJson } from "../../kit/strict_json.ts";
import { isKeyOrigin, parsePasskeyMaterial } from "../rules/key_material.ts";
import type { PasskeyKey } from "../rules/keys.ts";
import type { Assertion } from "../rules/proof.ts";
import { parseDerSignature } from "./ecdsa.ts";
import { ALGORITHMS, type Bytes, digest, verifySignature } from "./web_crypto.ts";

/** Flags of the authenticator data. */
const PRESENT = 1;
const VERIFIED = 4;
const BACKUP_ELIGIBLE = 8;
const BACKED_UP = 16;
/** Bytes of the hash of the relying party, flags and counter. */
const MIN_DATA_BYTES = 37;

/** Explains why an assertion is no signature of the statement by this key; undefined if it is one. */
export async function checkAssertion(proof: Assertion, key: PasskeyKey, statement: Bytes): Promise<string | undefined> {
  const data = decodeBase64Url(proof.authenticator_data);
  const client = decodeBase64Url(proof.client_data_json);
  const signature = decodeBase64Url(proof.signature);
  if (proof.credential_id !== key.credential_id) return "it is of another credential";
  if (!data || !client || !signature || data.length < MIN_DATA_BYTES) return "it is not written as a passkey gives it";
  const challenge = toBase64Url(await digest("SHA-256", statement));
  const rpHash = toBase64Url(await digest("SHA-256", new TextEncoder().encode(key.rp_id)));
  if (toBase64Url(data.slice(0, 32)) !== rpHash) return `it was not given for ${key.rp_id}`;
  const problem = findClientProblem(client, challenge, key) ?? findPresenceProblem(data[32]!);
  if (problem !== undefined) return problem;
  const signed = new Uint8Array([...data, ...(await digest("SHA-256", client))]);
  return (await isValid(key, signature, signed)) ? undefined : "the signature is not of this key";
}

/** Explains why the client data does not answer this challenge; undefined if it does. */
function findClientProblem(client: Uint8Array, challenge: string, key: PasskeyKey): string | undefined {
  let clientData: Record<string, unknown>;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(client);
    // `Object` turns other JSON into an object without these members.
    clientData = Object(parseStrictJson(text));
  } catch (error) {
    return `its client data ${error instanceof JsonRejected ? error.message : "is not UTF-8"}`;
  }
  const { type, challenge: signedChallenge, origin, crossOrigin = false, topOrigin } = clientData;
  if (type !== "webauthn.get") return "it is no assertion";
  if (signedChallenge !== challenge) return "it is of another statement";
  if (crossOrigin !== false || topOrigin !== undefined) return "it was asked for inside a page of another site";
  if (typeof origin !== "string" || !isKeyOrigin(origin, key)) return `it was asked for by a page of ${String(origin)}`;
  return undefined;
}

/** Explains why the authenticator data does not show a present person; undefined if it does. */
function findPresenceProblem(flags: number): string | undefined {
  if ((flags & PRESENT) === 0) return "nobody was present";
  if ((flags & VERIFIED) === 0) return "the person was not verified";
  if ((flags & BACKED_UP) !== 0 && (flags & BACKUP_ELIGIBLE) === 0) return "its flags contradict each other";
  return undefined;
}

async function isValid(key: PasskeyKey, signature: Bytes, signed: Bytes): Promise<boolean> {
  const { algorithm, spki } = parsePasskeyMaterial(key.public_key)!;
  const raw = algorithm === "ES256" ? parseDerSignature(signature) : signature;
  return raw !== undefined && verifySignature("spki", spki, ALGORITHMS[algorithm], raw, signed);
}
