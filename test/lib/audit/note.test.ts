/** Signed notes: their format, keys and signatures. */
import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { expect, test } from "vitest";
import {
  formatNote,
  formatVerifierKey,
  isSignedWithKey,
  computeKeyId,
  keyName,
  noteLine,
  parseNote,
} from "../../../lib/audit/note.ts";
import { decodeBase64, toBase64 } from "../../../lib/kit/base64.ts";
import { sha256 } from "../../../local/node_ports.ts";

/** A published note and its verifier key, from the Go package that defines the format. */
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const SIGNATURE =
  "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
/** Name, key id and base64, which may contain a plus; its first byte is the type of signature. */
const VERIFIER_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const peter = { name: "PeterNeumann", publicKey: decodeBase64(VERIFIER_KEY.split("+").slice(2).join("+"))!.slice(1) };

function createSigner(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = new Uint8Array(Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url"));
  const key = { name, publicKey: raw };
  const signature = (text: string) => ({
    name,
    keyId: computeKeyId(key, sha256),
    signature: new Uint8Array(sign(null, Buffer.from(text), privateKey)),
  });
  return { key, signature };
}

test("a published note is parsed, verified and written byte for byte", async () => {
  const note = parseNote(`${TEXT}\n${SIGNATURE}`)!;
  expect(note).toMatchObject({ text: TEXT, signatures: [{ name: "PeterNeumann", keyId: "c74f20a3" }] });
  expect(await isSignedWithKey(note, peter, sha256)).toBe(true);
  expect(formatNote(note)).toBe(`${TEXT}\n${SIGNATURE}`);
  expect(formatVerifierKey(peter, sha256)).toBe(VERIFIER_KEY);
});

test("every flipped bit of a note is rejected by its form, its name or its signature", async () => {
  const bytes = Buffer.from(`${TEXT}\n${SIGNATURE}`);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    const note = parseNote(flipped.toString());
    expect(note !== undefined && (await isSignedWithKey(note, peter, sha256)), `bit ${bit}`).toBe(false);
  }
});

test("signatures of unknown keys are ignored; an invalid signature of a known key is rejected", async () => {
  const [own, other] = [createSigner("log.example/a"), createSigner("log.example/a")];
  const text = "log.example/a\n1\nroot\n";
  const good = own.signature(text);
  const unknownKey = { ...other.signature(text), name: "witness.example" };
  expect(await isSignedWithKey({ text, signatures: [unknownKey, good] }, own.key, sha256)).toBe(true);
  expect(await isSignedWithKey({ text, signatures: [other.signature(text)] }, own.key, sha256)).toBe(false);
  expect(await isSignedWithKey({ text, signatures: [{ ...good, name: "log.example/b" }] }, own.key, sha256)).toBe(
    false,
  );
  const forged = { ...good, signature: other.signature(text).signature };
  expect(await isSignedWithKey({ text, signatures: [good, forged] }, own.key, sha256)).toBe(false);
  expect(await isSignedWithKey({ text, signatures: [] }, own.key, sha256)).toBe(false);
});

test("Node's crypto verifies a signature made for a note", () => {
  const { key, signature } = createSigner("log.example/a");
  const publicKey = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(key.publicKey).toString("base64url") },
    format: "jwk",
  });
  expect(verify(null, Buffer.from("text\n"), publicKey, signature("text\n").signature)).toBe(true);
});

test("a note without signatures ends with an empty line", () => {
  expect(formatNote({ text: "a\n", signatures: [] })).toBe("a\n\n");
  expect(parseNote("a\n\n")).toEqual({ text: "a\n", signatures: [] });
});

test("the text may contain empty lines; the last one ends it", () => {
  expect(parseNote(`a\n\nb\n\n${SIGNATURE}`)).toMatchObject({ text: "a\n\nb\n" });
});

test.each([
  ["no empty line", "a\nb\n"],
  ["no line end", `a\n\n${SIGNATURE.trimEnd()}`],
  ["a hyphen for the dash", `a\n\n${SIGNATURE.replace("—", "-")}`],
  ["no signature in the line", "a\n\n— name \n"],
  ["a signature that is no base64", "a\n\n— name !!!!\n"],
  ["base64 without its padding", `a\n\n${SIGNATURE.replace("=", "")}`],
  ["a key id without a signature", `a\n\n— name ${toBase64(new Uint8Array(4))}\n`],
  ["a control character", "a\tb\n\n"],
  ["a carriage return", "a\r\n\r\n\n"],
  ["more signatures than any log has", `a\n\n${SIGNATURE.repeat(101)}`],
])("a text with %s is not a note", (_, text) => {
  expect(parseNote(text)).toBeUndefined();
});

test("names with characters that a note forbids are percent-encoded", () => {
  expect(noteLine("acme\ncrm/audit/0f")).toBe("acme%0Acrm/audit/0f");
  expect(noteLine("acme crm + é/audit/0f")).toBe("acme crm + é/audit/0f");
  expect(keyName("acme crm +\u00a0é/audit/0f")).toBe("acme%20crm%20%2B%C2%A0é/audit/0f");
  expect(keyName("acme-crm/audit/0f")).toBe("acme-crm/audit/0f");
});
