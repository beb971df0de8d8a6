/** Who is who in an intent: what is taken, what is refused, and how names are looked up. */
import { describe, expect, test } from "vitest";
import {
  agentsOf,
  isAgent,
  keyIdOf,
  principalOf,
  principalsSchema,
  principalsToldOf,
} from "../../../../lib/governance/rules/principals.ts";
import { IntentInvalid } from "../../../../lib/governance/rules/intent.ts";
import { intentOf } from "../../../support/intents.ts";

const HASH = "ab".repeat(32);
const OTHER = "cd".repeat(32);
const agent = (token_sha256 = HASH) => ({ kind: "agent", token_sha256 });
const PASSKEY = {
  type: "webauthn",
  credential_id: "AQID",
  public_key: "MFkw_-A",
  rp_id: "gov.acme.example",
  origins: ["https://gov.acme.example"],
};
const SSH = { type: "ssh", public_key: "sk-ssh-ed25519@openssh.com AAAAGnNr/x+= ana" };
const person = (...keys: object[]) => ({ kind: "person", ...(keys.length > 0 ? { keys } : {}) });

const loading = (principals: unknown, policy: object = {}) => {
  return () => intentOf({ principals, policy }).intent;
};

test("people and agents are found under any spelling of their name", () => {
  const intent = loading({
    " Ana@Acme.example": person(),
    "agent:Pricing": agent(HASH.toUpperCase()),
    robo: agent(OTHER),
  })();
  expect(principalOf("ANA@ACME.EXAMPLE ", intent)).toEqual({ kind: "person" });
  expect(principalOf("ａｇｅｎｔ:pricing", intent)).toEqual(agent());
  expect(principalOf("constructor", intent)).toBeUndefined();
  expect(agentsOf(intent)).toEqual([
    { name: "agent:pricing", token_sha256: HASH },
    { name: "robo", token_sha256: OTHER },
  ]);
  const names = ["ana@acme.example", "Agent:Pricing", "ROBO", "agent:unheard-of", "bo"];
  expect(names.map((name) => isAgent(name, intent))).toEqual([false, true, true, true, false]);
});

test("without principals there are none, and a name that only agents may have is still an agent's", () => {
  const { intent } = intentOf();
  expect(intent.principals).toEqual({});
  expect([isAgent("agent:x", intent), isAgent("ana", intent)]).toEqual([true, false]);
});

test("a field that begins with x- is free", () => {
  expect(loading({ "agent:a": { ...agent(), "x-owner": "team pricing" } })().principals).toEqual({
    "agent:a": agent(),
  });
});

describe("refused:", () => {
  test.each<[string, unknown, string]>([
    ["a list", [], "principals must be an object"],
    ["no kind", { ana: {} }, "principals.ana.kind must be person or agent"],
    ["another kind", { ana: { kind: "robot" } }, "principals.ana.kind must be person or agent"],
    ["a misspelt field", { a: { kind: "agent", token_sha265: HASH } }, "token_sha265: did you mean token_sha256?"],
    ["an agent without a secret", { a: { kind: "agent" } }, "principals.a.token_sha256 is required of an agent"],
    ["a secret itself", { a: agent("hunter2") }, "principals.a.token_sha256 must be the 64 hex digits"],
    ["an agent with keys", { a: { ...agent(), keys: [] } }, "principals.a.keys are a person's"],
    ["a person with a secret", { ana: { kind: "person", token_sha256: HASH } }, "token_sha256 is an agent's"],
    ["one secret for two", { a: agent(), b: agent(HASH.toUpperCase()) }, "principals.b has the same token_sha256 as a"],
    ["two spellings of a name", { Ana: person(), "ana ": person() }, "is the same name as Ana"],
    ["a name of nothing", { " ": person() }, "must be a name of 1 to 200 visible characters"],
    ["a name with what nobody sees", { "a\u200Bna": person() }, "visible characters"],
    ["a name that is too long", { ["a".repeat(201)]: person() }, "1 to 200"],
    ["a model", { "llm:m1": agent() }, "must not begin with llm:"],
    ["a peer", { "Peer:acme": agent() }, "must not begin with llm:"],
    ["the service itself", { "policy:minor": person() }, "must not begin with llm:"],
    ["a person with an agent's name", { "Agent:ana": person() }, "must be of the kind agent"],
    ["keys, until they are checked", { ana: person(SSH) }, "principals.ana.keys are not checked by this version"],
  ])("%s", (_, principals, told) => {
    expect(loading(principals)).toThrow(IntentInvalid);
    expect(loading(principals)).toThrow(told);
  });

  test("an agent among those who approve, however its name is written", () => {
    const robo = { robo: agent() };
    expect(loading(robo, { approvers: ["ana", "Robo "] })).toThrow("policy.approvers.1 is an agent");
    expect(loading(robo, { approvers: ["ana"] })).not.toThrow();
  });
});

describe("keys", () => {
  const parsing = (...keys: object[]) => principalsSchema.safeParse({ ana: person(...keys) });
  const told = (...keys: object[]) =>
    (parsing(...keys).error?.issues ?? [])
      .map(({ path, message }) => `${path.slice(3).join(".")} ${message}`)
      .join("; ");

  test("of both types are read as they are stated", () => {
    const keys = [PASSKEY, SSH, { ...SSH, public_key: "ssh-ed25519 AAAAC3Nz", unattended: true }];
    expect(parsing(...keys).data).toEqual({ ana: { kind: "person", keys } });
  });

  test.each<[string, object, string]>([
    ["another type", { ...SSH, type: "pgp" }, "type must be webauthn or ssh"],
    ["a misspelt field", { ...SSH, unatended: true }, "unatended: did you mean unattended?"],
    ["a passkey without its credential", { ...PASSKEY, credential_id: undefined }, "credential_id is required"],
    ["a passkey without its site", { ...PASSKEY, rp_id: undefined }, "rp_id is required"],
    ["a passkey in base64", { ...PASSKEY, public_key: "MFkw+A==" }, "public_key must be the base64url"],
    ["a passkey that is unattended", { ...PASSKEY, unattended: true }, "unattended is no field of a webauthn key"],
    ["an SSH key with origins", { ...SSH, origins: [] }, "origins is no field of a ssh key"],
    ["no line of ssh-keygen", { ...SSH, public_key: "AAAAC3Nz" }, "public_key must be a line"],
  ])("%s is refused", (_, key, message) => {
    expect(told(key)).toContain(message);
  });

  test.each([
    ["passkey", PASSKEY, { ...PASSKEY, credential_id: "BAUG" }],
    ["credential", PASSKEY, { ...PASSKEY, public_key: "MFkw_-B" }],
    ["SSH key, whatever its comment", SSH, { ...SSH, public_key: `${SSH.public_key}@home` }],
  ])("one %s under two names is refused", (_, one, other) => {
    expect(loading({ ana: person(one), bo: person(other) })).toThrow("principals.bo has the same key as ana");
    expect(loading({ ana: person(one, other) })).not.toThrow("has the same key");
  });

  test("the log keeps which keys there are", () => {
    const principals = principalsSchema.parse({ ana: person(PASSKEY, SSH), "agent:a": agent() });
    expect(principalsToldOf({ principals })).toEqual({
      ana: { kind: "person", keys: ["AQID", "AAAAGnNr/x+="] },
      "agent:a": { kind: "agent", keys: [] },
    });
    const [passkey] = (principals["ana"] as { keys: Parameters<typeof keyIdOf>[0][] }).keys;
    expect(keyIdOf(passkey!)).toBe("AQID");
  });
});
