/** Signs with passkeys and creates them through the browser; sends nothing. */
import { decodeBase64Url, toBase64Url } from "../../../lib/kit/base64.ts";
import type { Assertion } from "../../../lib/changes/rules/proof.ts";
import { NotSentError } from "../core/api.ts";
import type { Passkey } from "./keys.ts";

const TIMEOUT_MS = 300_000;

/** Returns true if this browser supports passkeys at this address. */
export const hasPasskeys = (): boolean => "PublicKeyCredential" in globalThis;

/** Signs the challenge with one of these passkeys of one relying party. Errors: `NotSentError`. */
export async function signChallenge(keys: readonly Passkey[], challenge: Uint8Array<ArrayBuffer>): Promise<Assertion> {
  const options = {
    challenge,
    rpId: keys[0]!.rp_id,
    allowCredentials: keys.map(({ credential_id }) => makeDescriptor(credential_id)),
    userVerification: "required",
    timeout: TIMEOUT_MS,
  } as const;
  const credential = await requestCredential(() => navigator.credentials.get({ publicKey: options }), SIGNING_ERRORS);
  const response = credential.response as AuthenticatorAssertionResponse;
  return {
    type: "webauthn",
    credential_id: toBase64Url(new Uint8Array(credential.rawId)),
    authenticator_data: toBase64Url(new Uint8Array(response.authenticatorData)),
    client_data_json: toBase64Url(new Uint8Array(response.clientDataJSON)),
    signature: toBase64Url(new Uint8Array(response.signature)),
  };
}

/** ES256, Ed25519, RS256, as COSE numbers them. */
const ALGORITHMS = [-7, -8, -257];

/** Creates a passkey for this page's host, and returns its entry for the intent. Errors: `NotSentError`. */
export async function makePasskey(name: string, product: string, existing: readonly Passkey[]): Promise<object> {
  const { hostname, origin } = location;
  const options = {
    rp: { id: hostname, name: product },
    user: { id: crypto.getRandomValues(new Uint8Array(32)), name, displayName: name },
    challenge: crypto.getRandomValues(new Uint8Array(32)),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key" as const, alg })),
    authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
    attestation: "none",
    excludeCredentials: existing
      .filter(({ rp_id }) => rp_id === hostname)
      .map(({ credential_id }) => makeDescriptor(credential_id)),
    timeout: TIMEOUT_MS,
  } as const;
  const credential = await requestCredential(
    () => navigator.credentials.create({ publicKey: options }),
    CREATION_ERRORS,
  );
  const key = (credential.response as AuthenticatorAttestationResponse).getPublicKey();
  if (key === null)
    throw new NotSentError("This browser cannot read the public key of the new passkey. Try another browser.");
  return {
    type: "webauthn",
    credential_id: toBase64Url(new Uint8Array(credential.rawId)),
    public_key: toBase64Url(new Uint8Array(key)),
    rp_id: hostname,
    origins: [origin],
  };
}

const makeDescriptor = (credentialId: string) => ({ type: "public-key" as const, id: decodeBase64Url(credentialId)! });

type ErrorTexts = Readonly<Record<string, string>>; // By the name of a `DOMException`; "" is any other.

const SIGNING_ERRORS: ErrorTexts = {
  NotAllowedError:
    "Nothing was signed: it was cancelled, took too long, or this device has none of your keys. Use a device that has one.",
  SecurityError: "The browser cannot use your key here: it was made for another address.",
  "": "The browser could not ask for your key.",
};

const CREATION_ERRORS: ErrorTexts = {
  NotAllowedError: "No passkey was made. It was cancelled, or took too long.",
  InvalidStateError: "This device has a passkey for this address already, and the intent lists it.",
  SecurityError: "The browser makes no passkey for this address: only for https or http://localhost.",
  NotSupportedError:
    "This device makes no passkey that verifies its user, or none of a kind that this service accepts.",
  "": "The browser could not make a passkey.",
};

async function requestCredential(
  request: () => Promise<Credential | null>,
  words: ErrorTexts,
): Promise<PublicKeyCredential> {
  try {
    const credential = await request();
    if (credential) return credential as PublicKeyCredential;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    throw new NotSentError(words[error.name] ?? `${words[""]} It says: ${error.message}`, { cause: error });
  }
  throw new NotSentError(words[""]);
}
