/**
 * Tests which signatures of passkeys and SSH keys the verifier accepts. Flags of an authenticator: 1 its owner is present,
 * 4 verified; 8 the key may be backed up, 16 is backed up.
 */
import { createPublicKey, generateKeyPairSync, hash, sign } from "node:crypto";
import { expect, test } from "vitest";
import { parseKeys, type Key } from "../../../local/verify/policy.ts";
import { findSshSigner, isSignedByPasskey, matchesAssertion } from "../../../local/verify/signatures.ts";
import {
  type AssertionChanges,
  decodeSshSignature,
  encodeSshSignature,
  type Passkey,
  passkey,
  sshSigner,
} from "../../support/passkeys.ts";

const STATEMENT = '{"decision":"approve"}';

const readKey = ({ key }: { key: Passkey["key"] }): Key => parseKeys({ ana: { keys: [key] } }).get("ana")![0]!;

const ANA = passkey();

test.each<[string, AssertionChanges, boolean]>([
  ["its owner was present and verified", { flags: 5 }, true],
  ["its owner was not verified", { flags: 1 }, false],
  ["its owner was not present", { flags: 4 }, false],
  ["its key may be backed up", { flags: 5 | 8 }, true],
  ["its key is backed up", { flags: 5 | 8 | 16 }, true],
  ["its key is backed up, though it may not be", { flags: 5 | 16 }, false],
  ["it was made in a frame of another site", { client: { crossOrigin: true } }, false],
  ["it names the site around a frame", { client: { topOrigin: "https://evil.example" } }, false],
  ["it created a passkey", { type: "webauthn.create" }, false],
  ["its challenge is another one", { challenge: "AAAA" }, false],
  ["its client data are no JSON", { rewrite: (text) => text.slice(1) }, false],
  ["its client data have a member twice", { rewrite: (text) => text.replace("{", '{"type":"webauthn.get",') }, false],
  [
    "its client data do not say if a frame was used",
    { rewrite: (text) => text.replace(',"crossOrigin":false', "") },
    true,
  ],
])("an assertion where %s is accepted or rejected", (_, changes, isAccepted) => {
  expect(matchesAssertion(STATEMENT, ANA.sign(STATEMENT, changes))).toBe(isAccepted);
});

test("an assertion with less authenticator data than flags and counter is rejected", () => {
  const proof = ANA.sign(STATEMENT);
  const data = Buffer.from(proof.authenticator_data, "base64url");
  const shorten = (length: number) => ({ ...proof, authenticator_data: data.toString("base64url", 0, length) });
  expect([37, 36].map((length) => matchesAssertion(STATEMENT, shorten(length)))).toEqual([true, false]);
});

const LOCALHOST = { rp_id: "localhost" };
const LISTED = { origins: ["https://app.example", "http://localhost"] };

test.each<[string, Parameters<typeof passkey>[1], string, boolean]>([
  ["the host's own page", {}, "https://gov.acme.example", true],
  ["the host's page without TLS", {}, "http://gov.acme.example", false],
  ["a page on another port", {}, "https://gov.acme.example:8443", false],
  ["a page of this machine", LOCALHOST, "http://localhost", true],
  ["a port of this machine", LOCALHOST, "http://localhost:8787", true],
  ["the highest port with five digits", LOCALHOST, "http://localhost:99999", true],
  ["a port with six digits", LOCALHOST, "http://localhost:123456", false],
  ["port 0", LOCALHOST, "http://localhost:0", false],
  ["a port that is no number", LOCALHOST, "http://localhost:1a", false],
  ["a host that begins with localhost", LOCALHOST, "http://localhost.evil.example", false],
  ["a text before localhost", LOCALHOST, "xhttp://localhost", false],
  ["a page of this machine, for another host", {}, "http://localhost", false],
  ["a listed origin", LISTED, "https://app.example", true],
  ["the host's own page, which the list lacks", LISTED, "https://gov.acme.example", false],
])("a passkey's signature on %s is accepted or rejected", (_, options, origin, isAccepted) => {
  const signer = passkey("ES256", options);
  expect(isSignedByPasskey(signer.sign(STATEMENT, { origin }), readKey(signer))).toBe(isAccepted);
});

test.each(["ES256", "EdDSA", "RS256"] as const)("a passkey of %s signs for itself only", (algorithm) => {
  const [signer, other] = [passkey(algorithm), passkey(algorithm)];
  const proof = signer.sign(STATEMENT);
  const otherKey = { ...readKey(other), credential_id: signer.key.credential_id } as Key;
  expect([readKey(signer), readKey(other), otherKey].map((key) => isSignedByPasskey(proof, key))).toEqual([
    true,
    false,
    false,
  ]);
  expect(isSignedByPasskey(signer.sign(STATEMENT, { rp_id: "evil.example" }), readKey(signer))).toBe(false);
  const ssh = parseKeys({ ana: { keys: [sshSigner().key] } }).get("ana")![0]!;
  expect(isSignedByPasskey(proof, ssh)).toBe(false);
});

/** Returns whether a key with these bytes is accepted for a proof that `signer` made. */
const isAcceptedAs = (signer: Passkey, public_key: Buffer): boolean =>
  isSignedByPasskey(signer.sign(STATEMENT), { ...readKey(signer), public_key });

test("an RSA key counts from 2,048 bits, in exactly its encoding", () => {
  const makeSigner = (modulusLength: number): Passkey =>
    passkey("RS256", { keys: generateKeyPairSync("rsa", { modulusLength }) });
  const [small, signer] = [makeSigner(2040), makeSigner(2048)];
  const encoded = Buffer.from(signer.key.public_key, "base64url");
  expect(isAcceptedAs(signer, encoded)).toBe(true);
  expect(isAcceptedAs(small, Buffer.from(small.key.public_key, "base64url"))).toBe(false);
  expect(isAcceptedAs(signer, Buffer.concat([encoded, Buffer.of(0)]))).toBe(false);
  expect(isAcceptedAs(signer, encoded.subarray(0, -1))).toBe(false);
});

test("nobody can sign for an RSA key with the exponent 1", () => {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const { n } = publicKey.export({ format: "jwk" });
  const weak = createPublicKey({ key: { kty: "RSA", n: n!, e: "AQ" }, format: "jwk" });
  const proof = ANA.sign(STATEMENT);
  const [data, client] = [proof.authenticator_data, proof.client_data_json].map((text) =>
    Buffer.from(text, "base64url"),
  );
  const signed = Buffer.concat([data!, hash("sha256", client!, "buffer")]);
  // With this exponent the padded hash is its own signature. The hexadecimal text is the prefix of a SHA-256 hash by PKCS #1.
  const digestInfo = Buffer.concat([
    Buffer.from("3031300d060960864801650304020105000420", "hex"),
    hash("sha256", signed, "buffer"),
  ]);
  const padding = Buffer.alloc(256 - digestInfo.length - 3, 255);
  const forged = Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), digestInfo]);
  const key = { ...readKey(ANA), public_key: weak.export({ type: "spki", format: "der" }) } as Key;
  expect(isSignedByPasskey({ ...proof, signature: forged.toString("base64url") }, key)).toBe(false);
});

test("an elliptic key counts only as an uncompressed point", () => {
  const encoded = Buffer.from(ANA.key.public_key, "base64url");
  // Byte 26 of the encoding is the form of the point, and the coordinates X and Y of 32 bytes each follow it. A compressed
  // point has the form 2 or 3, as Y is even or odd, and only X.
  const compressed = Buffer.concat([
    encoded.subarray(0, 26),
    Buffer.of(2 + (encoded.at(-1)! % 2)),
    encoded.subarray(27, 59),
  ]);
  expect([encoded, compressed, encoded.subarray(0, -1)].map((key) => isAcceptedAs(ANA, key))).toEqual([
    true,
    false,
    false,
  ]);
});

const BO = sshSigner();

test.each<[string, string, boolean]>([
  ["as ssh-keygen writes it", BO.sign(STATEMENT).signature, true],
  ["with SHA-256", BO.sign(STATEMENT, { hash: "sha256" }).signature, true],
  ["with CRLF line ends and blanks around it", ` \n${BO.sign(STATEMENT).signature.replaceAll("\n", "\r\n")}\t`, true],
  ["for another purpose", BO.sign(STATEMENT, { namespace: "file" }).signature, false],
  ["by a security key that nobody touched", BO.sign(STATEMENT, { flags: 4 }).signature, false],
  ["by a security key that did not verify its owner", BO.sign(STATEMENT, { flags: 1 }).signature, false],
  ["of another statement", BO.sign("{}").signature, false],
  ["without its first line", BO.sign(STATEMENT).signature.replace(/^.*\n/, ""), false],
])("an SSH signature %s is accepted or rejected", (_, signature, isAccepted) => {
  expect(findSshSigner(STATEMENT, { type: "ssh", signature }) !== undefined).toBe(isAccepted);
});

test("an SSH signature with a byte more or less at its end, or of another version, is rejected", () => {
  const bytes = decodeSshSignature(BO.sign(STATEMENT).signature);
  // The version is a number in bytes 6 to 9.
  const version2 = Buffer.from(bytes).fill(2, 9, 10);
  for (const changed of [Buffer.concat([bytes, Buffer.of(0)]), bytes.subarray(0, -1), version2])
    expect(findSshSigner(STATEMENT, { signature: encodeSshSignature(changed) })).toBeUndefined();
});

/** Encodes a text or bytes as a string of SSH. */
function encodeString(data: string | Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(data)]);
}

/** Signs the statement with an Ed25519 key whose parts the test chooses. */
function signWithParts({
  keyType = "ssh-ed25519",
  signatureType = "ssh-ed25519",
  reserved = "",
  keyEnd = "",
  end = "",
}) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  const blob = Buffer.concat([encodeString(keyType), encodeString(raw), Buffer.from(keyEnd)]);
  const head = ["countersign-consent", reserved, "sha512"].map(encodeString);
  const digest = encodeString(hash("sha512", STATEMENT, "buffer"));
  const signature = encodeString(sign(null, Buffer.concat([Buffer.from("SSHSIG"), ...head, digest]), privateKey));
  const inner = Buffer.concat([encodeString(signatureType), signature, Buffer.from(end)]);
  const parts = [Buffer.from("SSHSIG\0\0\0\u0001"), encodeString(blob), ...head, encodeString(inner)];
  return findSshSigner(STATEMENT, { signature: encodeSshSignature(Buffer.concat(parts)) });
}

test.each([
  ["whose parts are all in order", {}, true],
  ["with a text in the reserved field", { reserved: "x" }, false],
  ["of another type than its key", { signatureType: "ssh-rsa" }, false],
  ["by a key of an unknown type", { keyType: "ssh-dss", signatureType: "ssh-dss" }, false],
  ["with a byte after its key", { keyEnd: "x" }, false],
  ["with a byte after its own signature", { end: "x" }, false],
])("an SSH signature %s is accepted or rejected", (_, parts, isAccepted) => {
  expect(signWithParts(parts) !== undefined).toBe(isAccepted);
});
