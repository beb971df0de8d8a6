/** Public keys in an intent: each has exactly one valid encoding. */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import {
  signingKeyId,
  isKeyOrigin,
  parsePasskeyMaterial,
  parseSshMaterial,
} from "../../../../lib/changes/rules/key_material.ts";

const toDer = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });
const parse = (bytes: Uint8Array) => parsePasskeyMaterial(Buffer.from(bytes).toString("base64url"));
const EC = toDer(generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey);
const ED = toDer(generateKeyPairSync("ed25519").publicKey);
const RSA = toDer(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey);

test.each([
  ["ES256", EC, EC.subarray(-65)],
  ["EdDSA", ED, ED.subarray(-32)],
  ["RS256", RSA, RSA],
] as const)("a passkey of %s is read", (algorithm, der, raw) => {
  expect(parse(der)).toEqual({ algorithm, spki: new Uint8Array(der), raw: new Uint8Array(raw) });
});

/** Encodes a DER element; its length has `spare` unneeded bytes. */
function encodeElement(tag: number, content: readonly number[], spare = 0): number[] {
  const size = content.length;
  if (size < 0x80 && spare === 0) return [tag, size, ...content];
  const sizeBytes = size < 0x100 ? [size] : [size >> 8, size & 255];
  return [tag, 0x80 + spare + sizeBytes.length, ...Array<number>(spare).fill(0), ...sizeBytes, ...content];
}
/** A modulus of 2048 bits; DER numbers have a sign, so a first bit of 1 needs a zero byte before it. */
const MODULUS = [0, ...Array<number>(256).fill(0xa5)];
const EXPONENT = [1, 0, 1];
/** The identifier of rsaEncryption, with its parameters, NULL. */
const ALGORITHM = [...Buffer.from("300d06092a864886f70d0101010500", "hex")];
const encodeSequence = (parts: number[][]): number[] => encodeElement(0x30, parts.flat());
/** Encodes an RSA public key, by default correctly. */
const encodeKey = (inner: number[], { algorithm = ALGORITHM, unused = 0, tag = 0x30, spare = 0 } = {}): Uint8Array =>
  Uint8Array.from(encodeElement(tag, [...algorithm, ...encodeElement(0x03, [unused, ...inner])], spare));
const NUMBERS = [encodeElement(2, MODULUS), encodeElement(2, EXPONENT)];

test("an RSA key that this test encodes is read", () => {
  expect(parse(encodeKey(encodeSequence(NUMBERS)))?.algorithm).toBe("RS256");
  expect(parse(encodeKey(encodeSequence([encodeElement(2, MODULUS), encodeElement(2, [0, 0x80, 1])])))?.algorithm).toBe(
    "RS256",
  );
});

test.each<[string, Uint8Array]>([
  ["no bytes", new Uint8Array()],
  ["a truncated EC key", EC.subarray(0, -1)],
  ["an EC key with a byte more", Uint8Array.from([...EC, 0])],
  ["a truncated Ed25519 key", ED.subarray(0, -1)],
  ["an Ed25519 key with a byte more", Uint8Array.from([...ED, 0])],
  ["a byte more", Uint8Array.from([...RSA, 0])],
  ["a byte less", RSA.subarray(0, -1)],
  ["1024 bits", toDer(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey)],
  ["one byte fewer than a key of 2048 bits has", encodeKey(encodeSequence([NUMBERS[0]!, encodeElement(2, [1, 1])]))],
  ["another tag", encodeKey(encodeSequence(NUMBERS), { tag: 0x31 })],
  [
    // The last byte of the algorithm's identifier, before its parameters.
    "another algorithm",
    encodeKey(encodeSequence(NUMBERS), { algorithm: ALGORITHM.map((byte, index) => (index === 12 ? 2 : byte)) }),
  ],
  ["unused bits", encodeKey(encodeSequence(NUMBERS), { unused: 1 })],
  ["a length that is longer than it needs", encodeKey(encodeSequence(NUMBERS), { spare: 1 })],
  [
    "an exponent whose length is longer than it needs",
    encodeKey(encodeSequence([NUMBERS[0]!, encodeElement(2, EXPONENT, 1)])),
  ],
  ["an exponent with a zero in front", encodeKey(encodeSequence([NUMBERS[0]!, encodeElement(2, [0, ...EXPONENT])]))],
  ["a modulus with two zeros in front", encodeKey(encodeSequence([encodeElement(2, [0, ...MODULUS]), NUMBERS[1]!]))],
  ["an empty exponent", encodeKey(encodeSequence([NUMBERS[0]!, encodeElement(2, [])]))],
  ["no exponent", encodeKey(encodeSequence([encodeElement(2, [...MODULUS, ...Array<number>(8).fill(1)])]))],
  ["three numbers", encodeKey(encodeSequence([...NUMBERS, encodeElement(2, [3])]))],
  ["no list of numbers", encodeKey(NUMBERS.flat())],
  ["text in place of the exponent", encodeKey(encodeSequence([NUMBERS[0]!, encodeElement(4, EXPONENT)]))],
  ["a list that ends too early", encodeKey([...encodeSequence(NUMBERS), 0])],
])("a public key with %s is rejected", (_, der) => {
  expect(parse(der)).toBeUndefined();
});

test("a passkey that is not base64url is rejected", () => {
  expect(parsePasskeyMaterial("MFkwEwYHKoZI*")).toBeUndefined();
});

/** Encodes parts of an SSH key, each after its length. */
const encodeWire = (...parts: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const size = Buffer.alloc(4);
      size.writeUInt32BE(Buffer.from(part as string).length);
      return [size, Buffer.from(part as string)];
    }),
  );
const ED_RAW = ED.subarray(-32);
const EC_RAW = EC.subarray(-65);
const makeKeyLine = (type: string, blob: Uint8Array): string => `${type} ${Buffer.from(blob).toString("base64")} ana`;

test.each<[string, (string | Uint8Array)[], Uint8Array, string | undefined]>([
  ["ssh-ed25519", [ED_RAW], ED_RAW, undefined],
  ["ecdsa-sha2-nistp256", ["nistp256", EC_RAW], EC_RAW, undefined],
  ["sk-ssh-ed25519@openssh.com", [ED_RAW, "ssh:"], ED_RAW, "ssh:"],
  ["sk-ecdsa-sha2-nistp256@openssh.com", ["nistp256", EC_RAW, "ssh:x"], EC_RAW, "ssh:x"],
])("an SSH key of %s is read, with the fingerprint of ssh-keygen", (type, parts, raw, application) => {
  const blob = encodeWire(type, ...parts);
  const text = makeKeyLine(type, blob);
  expect(parseSshMaterial(text)).toEqual({
    type,
    blob: new Uint8Array(blob),
    raw: new Uint8Array(raw),
    ...(application !== undefined && { application: new Uint8Array(Buffer.from(application)) }),
  });
  const digest = createHash("sha256").update(blob).digest("base64").replaceAll("=", "");
  expect(signingKeyId({ type: "ssh", public_key: text }, portableSha256)).toBe(`SHA256:${digest}`);
});

test.each<[string, string]>([
  ["another type", makeKeyLine("ssh-rsa", encodeWire("ssh-rsa", ED_RAW))],
  ["another type than its blob", makeKeyLine("ssh-ed25519", encodeWire("ecdsa-sha2-nistp256", "nistp256", EC_RAW))],
  ["another curve", makeKeyLine("ecdsa-sha2-nistp256", encodeWire("ecdsa-sha2-nistp256", "nistp384", EC_RAW))],
  [
    "a compressed point",
    makeKeyLine("ecdsa-sha2-nistp256", encodeWire("ecdsa-sha2-nistp256", "nistp256", Buffer.alloc(65, 2))),
  ],
  [
    "a truncated point",
    makeKeyLine("ecdsa-sha2-nistp256", encodeWire("ecdsa-sha2-nistp256", "nistp256", EC_RAW.subarray(0, 64))),
  ],
  ["31 bytes", makeKeyLine("ssh-ed25519", encodeWire("ssh-ed25519", ED_RAW.subarray(1)))],
  ["bytes after the end", makeKeyLine("ssh-ed25519", encodeWire("ssh-ed25519", ED_RAW, "more"))],
  ["no application", makeKeyLine("sk-ssh-ed25519@openssh.com", encodeWire("sk-ssh-ed25519@openssh.com", ED_RAW))],
  ["no blob", "ssh-ed25519"],
  ["invalid base64", "ssh-ed25519 *** ana"],
])("an SSH key with %s is rejected", (_, text) => {
  expect(parseSshMaterial(text)).toBeUndefined();
});

test("the id of a passkey is the digest of its public key", () => {
  const digest = createHash("sha256").update(EC).digest("base64").replaceAll("=", "");
  const public_key = EC.toString("base64url");
  expect(signingKeyId({ type: "webauthn", public_key }, portableSha256)).toBe(`SHA256:${digest}`);
});

test.each<[string, { rp_id: string; origins?: string[] }, boolean]>([
  ["https://gov.example", { rp_id: "gov.example" }, true],
  ["https://a.gov.example", { rp_id: "gov.example" }, false],
  ["http://gov.example", { rp_id: "gov.example" }, false],
  ["https://a.gov.example", { rp_id: "gov.example", origins: ["https://a.gov.example"] }, true],
  ["https://gov.example", { rp_id: "gov.example", origins: ["https://a.gov.example"] }, false],
  ["http://localhost", { rp_id: "localhost" }, true],
  ["http://localhost:8420", { rp_id: "localhost" }, true],
  ["http://localhost:0", { rp_id: "localhost" }, false],
  ["http://localhost:123456", { rp_id: "localhost" }, false],
  ["http://localhost:1x", { rp_id: "localhost" }, false],
  ["xhttp://localhost", { rp_id: "localhost" }, false],
  ["https://localhost", { rp_id: "localhost" }, false],
])("%s is an allowed origin of a passkey of %j: %s", (origin, passkey, isAllowed) => {
  expect(isKeyOrigin(origin, passkey)).toBe(isAllowed);
});
