/** Tests which keys and principals the verifier reads from a policy, and how it compares those of intents. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseEd25519Key } from "../../../local/verify/edwards.ts";
import { createIntentRegistry, matchesManifest, type Principals } from "../../../local/verify/named_keys.ts";
import { decodeBase64, normalizeName, parseKeys, readPolicy } from "../../../local/verify/policy.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";

// A key encodes y below the prime P, and in its highest bit the sign of x; where x is 0, as for y = 1 and y = p - 1, it has none.
const P = 2n ** 255n - 19n;
const SIGN = 2n ** 255n;

/** Encodes a number as 32 bytes in the order of RFC 8032. */
const encode = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(64, "0"), "hex").reverse();
const { publicKey } = generateKeyPairSync("ed25519");
const POINT = publicKey.export({ type: "spki", format: "der" }).subarray(-32);

test.each<[string, Buffer, boolean]>([
  ["a point", POINT, true],
  ["31 bytes", POINT.subarray(1), false],
  ["33 bytes", Buffer.concat([POINT, Buffer.of(0)]), false],
  ["y = 1", encode(1n), true],
  ["y = 1 with a sign", encode(1n + SIGN), false],
  ["y = p - 1", encode(P - 1n), true],
  ["y = p - 1 with a sign", encode(P - 1n + SIGN), false],
  ["y = p, which is 0", encode(P), false],
  ["y = p + 1, which is 1", encode(P + 1n), false],
  ["y = 0", encode(0n), true],
  ["y = 0 with a sign, since its x is not 0", encode(SIGN), true],
])("an Ed25519 key of %s is read or rejected", (_, raw, isRead) => {
  expect(parseEd25519Key(raw) !== undefined).toBe(isRead);
});

test("a key is read with its own bytes", () => {
  const before = Buffer.from(POINT);
  expect(parseEd25519Key(POINT)!.export({ type: "spki", format: "der" }).subarray(-32)).toEqual(before);
  expect(POINT).toEqual(before);
});

test.each<[unknown, string | undefined]>([
  ["aGk=", "hi"],
  ["aGk", undefined],
  ["aGl=", undefined],
  ["", undefined],
  [7, undefined],
  [undefined, undefined],
])("%j is decoded to %j, and to undefined if it is no canonical base64", (value, text) => {
  expect(decodeBase64(value, "base64")?.toString()).toBe(text);
});

test.each([
  [" ANA ", "ana"],
  ["A\u00a0 \tB", "a b"],
  ["STRASSE", "strasse"],
  ["straße", "strasse"],
  ["\u0131", "\u0131"],
  ["a\u200db", "ab"],
  ["ﬁ", "fi"],
  ["Σς", "σσ"],
])("the name %j is compared as %j", (name, normalized) => {
  expect(normalizeName(name)).toBe(normalized);
});

const { key: SSH } = sshSigner();
const { key: PHONE } = passkey("ES256", { origins: ["https://a.example", "https://b.example"] });

test.each<[string, unknown]>([
  ["that are a list", []],
  ["with one that is no object", { ana: "x" }],
  ["with one name in two forms", { ana: {}, " ANA": {} }],
  ["whose keys are no list", { ana: { keys: {} } }],
  ["with a key that is no object", { ana: { keys: ["x"] } }],
  ["with a key without a type", { ana: { keys: [{ ...SSH, type: undefined }] } }],
  ["with a key of another type", { ana: { keys: [{ ...SSH, type: "pgp" }] } }],
  ["with an SSH key without its bytes", { ana: { keys: [{ ...SSH, public_key: "ssh-ed25519" }] } }],
  ["with a passkey without its bytes", { ana: { keys: [{ ...PHONE, public_key: "" }] } }],
  ["with a passkey without a credential", { ana: { keys: [{ ...PHONE, credential_id: undefined }] } }],
  ["with a passkey without a host", { ana: { keys: [{ ...PHONE, rp_id: 7 }] } }],
  ["with a passkey whose origins are a text", { ana: { keys: [{ ...PHONE, origins: "https://a.example" }] } }],
  [
    "with a passkey that has an origin that is no text",
    { ana: { keys: [{ ...PHONE, origins: ["https://a.example", 7] }] } },
  ],
])("principals %s are rejected", (_, principals) => {
  expect(() => parseKeys(principals)).toThrow(TypeError);
});

test("principals may have no keys, and passkeys no origins", () => {
  const keys = parseKeys({ ana: { keys: [SSH, PHONE, { ...PHONE, origins: null }] }, Bo: {} });
  expect([...keys.keys()]).toEqual(["ana", "bo"]);
  expect(keys.get("ana")).toMatchObject([
    { type: "ssh" },
    { type: "webauthn", origins: PHONE.origins },
    { type: "webauthn", origins: undefined },
  ]);
});

const folder = mkdtempSync(join(tmpdir(), "keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each<[string, string, boolean]>([
  ["the principals of an intent", '{"principals":{"ana":{}}}', true],
  ["a byte order mark before them", '\ufeff{"principals":{"ana":{}}}', true],
  ["a byte order mark within them", '{"principals":\ufeff{"ana":{}}}', false],
  ["no JSON", "x", false],
  ["a list", "[]", false],
  ["no principals", "{}", false],
  ["principals that are a list", '{"principals":[]}', false],
])("a policy file of %s is read or rejected", (_, text, isRead) => {
  const file = join(folder, "policy.json");
  writeFileSync(file, text);
  if (isRead) expect([...readPolicy(file).keys()]).toEqual(["ana"]);
  else expect(() => readPolicy(file)).toThrow(`${file} is not JSON with the principals of an intent`);
});

/** Adds two entries of the same intent, and returns what is wrong with the second. */
function addTwice(first: unknown, second: unknown): string | undefined {
  const registry = createIntentRegistry();
  expect(registry.addIntent(3, { manifest_hash: "m", principals: first })).toBeUndefined();
  return registry.addIntent(9, { manifest_hash: "m", principals: second });
}

const ANA = { ana: { kind: "person", keys: ["k1", "k2"] } };
const DIFFERS = "its principals are not those of entry 3, which has the same manifest_hash";

test.each<[string, unknown, string | undefined]>([
  ["the same principals", ANA, undefined],
  ["the name in another form", { " ANA ": ANA.ana }, undefined],
  ["the keys in another order", { ana: { kind: "person", keys: ["k2", "k1"] } }, undefined],
  ["a key that is no text and does not count", { ana: { kind: "person", keys: ["k1", "k2", 7] } }, undefined],
  ["a key less", { ana: { kind: "person", keys: ["k1"] } }, DIFFERS],
  ["another key", { ana: { kind: "person", keys: ["k1", "k3"] } }, DIFFERS],
  ["keys that are no list", { ana: { kind: "person", keys: "k1" } }, DIFFERS],
  ["another kind", { ana: { kind: "agent", keys: ["k1", "k2"] } }, DIFFERS],
  ["no kind", { ana: { keys: ["k1", "k2"] } }, DIFFERS],
  ["another name", { bo: ANA.ana }, DIFFERS],
  ["a name more", { ...ANA, bo: {} }, DIFFERS],
  ["no principals", undefined, DIFFERS],
])("a second entry of an intent with %s is accepted or reported", (_, second, message) => {
  expect(addTwice(ANA, second)).toBe(message);
});

test("an entry of another intent may have other principals", () => {
  const registry = createIntentRegistry();
  registry.addIntent(1, { manifest_hash: "m", principals: ANA });
  expect(registry.addIntent(2, { manifest_hash: "n", principals: {} })).toBeUndefined();
  expect(registry.listKeys({ manifest_hash: "m" }, " Ana ")).toEqual(["k1", "k2"]);
  expect(registry.listKeys({ manifest_hash: "n" }, "ana")).toEqual([]);
  expect(registry.findPrincipals("o")).toBeUndefined();
});

test("the principals in an entry have exactly the keys of the manifest", () => {
  const keys = parseKeys({ ana: { keys: [SSH, PHONE] }, bo: {} });
  const ids = keys.get("ana")!.map(({ id }) => id);
  const match = (ana: readonly string[], others: readonly string[] = ["bo"]): boolean =>
    matchesManifest(
      new Map([
        ["ana", { kind: "person", keys: ana }],
        ...others.map((name) => [name, { kind: "", keys: [] }] as const),
      ]) as Principals,
      keys,
    );
  expect(match(ids.toSorted())).toBe(true);
  expect(match(ids.slice(1))).toBe(false);
  expect(match([])).toBe(false);
  expect(match(ids.toSorted(), [])).toBe(false);
  expect(match(ids.toSorted(), ["cy"])).toBe(false);
  expect(match(ids.toSorted(), ["bo", "cy"])).toBe(false);
});
