/** Principals of an intent: valid and invalid principals, and the search for a name. */
import { describe, expect, test } from "vitest";
import { listAgents, isAgent, findPrincipal, createPrincipalFacts } from "../../../../lib/changes/rules/principals.ts";
import { IntentInvalid } from "../../../../lib/changes/rules/intent.ts";
import { passkey, sshSigner } from "../../../support/passkeys.ts";
import { makeIntent } from "../../../support/intents.ts";

const HASH = "ab".repeat(32);
const OTHER_HASH = "cd".repeat(32);
const agent = (token_sha256 = HASH) => ({ kind: "agent", token_sha256 });
const [PASSKEY, SSH] = [passkey().key, sshSigner().key];
const person = (...keys: object[]) => ({ kind: "person", ...(keys.length > 0 ? { keys } : {}) });

const loadWith = (principals: unknown, policy: object = {}) => {
  return () => makeIntent({ principals, policy }).intent;
};

test("people and agents are found under any spelling of their name", () => {
  const intent = loadWith({
    " Ana@Acme.example": person(),
    "agent:Pricing": agent(HASH.toUpperCase()),
    robo: agent(OTHER_HASH),
  })();
  expect(findPrincipal("ANA@ACME.EXAMPLE ", intent)).toEqual({ kind: "person" });
  expect(findPrincipal("ａｇｅｎｔ:pricing", intent)).toEqual(agent());
  expect(findPrincipal("constructor", intent)).toBeUndefined();
  expect(listAgents(intent)).toEqual([
    { name: "agent:pricing", token_sha256: HASH },
    { name: "robo", token_sha256: OTHER_HASH },
  ]);
  const names = ["ana@acme.example", "Agent:Pricing", "ROBO", "agent:unheard-of", "bo"];
  expect(names.map((name) => isAgent(name, intent))).toEqual([false, true, true, true, false]);
});

test("without principals no name is known, and names of agents are still reserved", () => {
  const { intent } = makeIntent();
  expect(intent.principals).toEqual({});
  expect([isAgent("agent:x", intent), isAgent("ana", intent)]).toEqual([true, false]);
});

test("a field that begins with x- is accepted and left out", () => {
  expect(loadWith({ "agent:a": { ...agent(), "x-owner": "team pricing" } })().principals).toEqual({
    "agent:a": agent(),
  });
});

describe("principals are rejected with", () => {
  test.each<[string, unknown, string]>([
    ["a list", [], "principals must be an object"],
    ["a principal without a kind", { ana: {} }, "principals.ana.kind must be person or agent"],
    ["another kind", { ana: { kind: "robot" } }, "principals.ana.kind must be person or agent"],
    ["a misspelt field", { a: { kind: "agent", token_sha265: HASH } }, "token_sha265: did you mean token_sha256?"],
    ["an agent without a secret", { a: { kind: "agent" } }, "principals.a.token_sha256 is required of an agent"],
    ["a secret itself", { a: agent("hunter2") }, "principals.a.token_sha256 must be the 64 hex digits"],
    ["an agent with keys", { a: { ...agent(), keys: [] } }, "principals.a.keys are a person's"],
    ["a person with a secret", { ana: { kind: "person", token_sha256: HASH } }, "token_sha256 is an agent's"],
    ["one secret for two", { a: agent(), b: agent(HASH.toUpperCase()) }, "principals.b has the same token_sha256 as a"],
    ["two spellings of a name", { Ana: person(), "ana ": person() }, "is the same name as Ana"],
    ["a blank name", { " ": person() }, "must be a name of 1 to 200 visible characters"],
    ["a name with an invisible character", { "a\u200Bna": person() }, "visible characters"],
    ["a name that is too long", { ["a".repeat(201)]: person() }, "1 to 200"],
    ["a model", { "llm:m1": agent() }, "must not begin with llm:"],
    ["a peer", { "Peer:acme": agent() }, "must not begin with llm:"],
    ["the service itself", { "policy:minor": person() }, "must not begin with llm:"],
    ["a person with an agent's name", { "Agent:ana": person() }, "must be of the kind agent"],
  ])("%s", (_, principals, message) => {
    expect(loadWith(principals)).toThrow(IntentInvalid);
    expect(loadWith(principals)).toThrow(message);
  });

  test("an agent among the approvers, in any spelling", () => {
    const robo = { robo: agent() };
    expect(loadWith(robo, { approvers: ["ana", "Robo "] })).toThrow("policy.approvers.1 is an agent");
    expect(loadWith(robo, { approvers: ["ana"] })).not.toThrow();
  });
});

test("the log has the fingerprints of the keys", () => {
  const intent = loadWith({ ana: person(PASSKEY, SSH), "agent:a": agent() })();
  const fingerprint = expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/);
  expect(createPrincipalFacts(intent)).toEqual({
    ana: { kind: "person", keys: [fingerprint, fingerprint] },
    "agent:a": { kind: "agent", keys: [] },
  });
});
