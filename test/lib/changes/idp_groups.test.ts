/** Groups of the identity provider: an intent can require them in a person's token; they never add permissions. */
import { expect, test } from "vitest";
import type { Manifest } from "../../support/intents.ts";
import { makeIntent } from "../../support/intents.ts";
import { openDeps } from "../../support/deps.ts";
import { PROPOSAL, type Reply } from "../../support/client.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { openWithMandates, MANDATE_INTENT, PRINCIPALS } from "../../support/mandates.ts";
import { passkey } from "../../support/passkeys.ts";
import { service, makeService, type TestService } from "../../support/service.ts";
import { person, proofFields, requestStatement } from "../../support/signed.ts";

/** An identity provider for tests: its token is the person as JSON. */
const identityToken = {
  header: "x-token",
  verify: async (token: string) => JSON.parse(token) as { name: string; groups: string[] },
};
const token = (name: string, ...groups: string[]) => ({ "x-token": JSON.stringify({ name, groups }) });
const LISTED_NAMES = ["ana", "bo"];
const ACTIONS = ["apply", "rollback", "freeze", "unfreeze", "restore", "feed_kpis", "erase", "accept_clock", "notes"];
const policy = {
  approvers: [...LISTED_NAMES, "cy"],
  break_glass: { approvers: [...LISTED_NAMES, "cy"], required: 1, review_hours: 24 },
  permissions: Object.fromEntries(ACTIONS.map((name) => [name, LISTED_NAMES])),
};
/** Makes an intent that requires the groups of Ana and of Eve; Eve is on no list. */
const requireGroups = (idp: string[] = ["release"]): Manifest => ({
  principals: { ana: { kind: "person", idp }, eve: { kind: "person", idp }, bo: { kind: "person" } },
  policy,
});
const kpis = { csat: { baseline: 4, target: 5 } };

async function propose(api: TestService): Promise<string> {
  return (await api.post("propose", PROPOSAL, token("pat"))).body.change_id;
}
async function proposeAndApprove(api: TestService): Promise<string> {
  const change_id = await propose(api);
  expect((await api.post("approve", { change_id }, token("cy"))).status).toBe(200);
  return change_id;
}
async function proposeAndApply(api: TestService): Promise<string> {
  const change_id = await proposeAndApprove(api);
  expect((await api.post("apply", { change_id }, token("bo"))).status).toBe(200);
  return change_id;
}

type Send = (api: TestService, headers: HeadersInit) => Promise<Reply>;
/** Actions that need a person, and the error code if the person may not perform them. */
const DECISIONS: Record<string, [code: string, send: Send]> = {
  approve: ["not_an_approver", async (api, headers) => api.post("approve", { change_id: await propose(api) }, headers)],
  deny: ["not_an_approver", async (api, headers) => api.post("deny", { change_id: await propose(api) }, headers)],
  "approve in an emergency": [
    "not_an_approver",
    async (api, headers) =>
      api.post("approve", { change_id: await propose(api), emergency: true, note: "down" }, headers),
  ],
  review: [
    "not_an_approver",
    async (api, headers) => {
      const change_id = await propose(api);
      await api.post("approve", { change_id, emergency: true, note: "down" }, token("cy"));
      return api.post("review", { change_id, verdict: "accepted" }, headers);
    },
  ],
  apply: [
    "not_permitted",
    async (api, headers) => api.post("apply", { change_id: await proposeAndApprove(api) }, headers),
  ],
  rollback: [
    "not_permitted",
    async (api, headers) => api.post("rollback", { change_id: await proposeAndApply(api) }, headers),
  ],
  freeze: ["not_permitted", async (api, headers) => api.post("freeze", { note: "incident" }, headers)],
  unfreeze: [
    "not_permitted",
    async (api, headers) => {
      await api.post("freeze", {}, token("bo"));
      return api.post("unfreeze", {}, headers);
    },
  ],
  kpi: ["not_permitted", async (api, headers) => api.post("kpi", { csat: 4.5 }, headers)],
  erase: [
    "not_permitted",
    async (api, headers) => {
      const change_id = await propose(api);
      await api.post("deny", { change_id }, token("cy"));
      return api.post("erase", { change_id }, headers);
    },
  ],
  note: [
    "not_permitted",
    async (api, headers) =>
      api.post("note", { change_id: await proposeAndApply(api), item: "rationale", note: "so" }, headers),
  ],
};

/** Tokens; `isAllowed` is true if the person in the token may act. */
const TOKENS: [name: string, headers: HeadersInit, isAllowed: boolean][] = [
  ["Ana's token without groups", token("ana"), false],
  ["Ana's token with other groups", token("ana", "Release", "release-", "idp:release", "admins"), false],
  ["Ana's token with the group", token("ana", "ops", "release"), true],
  ["the token of Bo, who needs no group", token("bo"), true],
  ["the token with the group of Eve, who is on no list", token("eve", "release"), false],
  ["the token with the group of Zoe, whom the intent does not name", token("zoe", "release"), false],
];

test.each(Object.entries(DECISIONS))(
  "%s needs the group in the token, and the group without a permission is not enough",
  async (_, [code, send]) => {
    for (const [name, headers, isAllowed] of TOKENS) {
      const api = await service({ identityToken, intent: { ...requireGroups(), kpis } });
      const { status, body } = await send(api, headers);
      if (isAllowed) expect([name, status], JSON.stringify(body)).toEqual([name, 200]);
      else expect([name, status, body.code]).toEqual([name, 403, code]);
    }
  },
);

test("an entry records the groups that the intent requires, and no others of the token", async () => {
  const api = await service({ identityToken, intent: requireGroups(["release", "eu"]) });
  const change_id = await propose(api);
  const rejected = await api.post("approve", { change_id }, token("ana", "release"));
  expect([rejected.status, rejected.body.error]).toEqual([
    403,
    "what ana decides counts only with a token of the identity provider that names release, eu; this request has none",
  ]);
  const { body } = await api.post("approve", { change_id }, token("ana", "eu", "staff", "release"));
  expect(body.approvals).toMatchObject([{ approver: "ana", idp: ["release", "eu"] }]);
  expect((await api.post("revoke", { change_id }, token("ana"))).body.code).toBe("not_an_approver");
  await api.post("freeze", { note: "incident" }, token("ana", "eu", "release"));
  await api.post("unfreeze", {}, token("bo"));
  await api.post("apply", { change_id }, token("ana", "eu", "release"));
  const details = (await api.steps()).map(({ event_type, detail }) => [event_type, JSON.parse(detail).idp]);
  const idp = ["release", "eu"];
  expect(details).toEqual([
    ["change_proposed", undefined],
    ["consent_decision", idp],
    ["service_frozen", idp],
    ["service_unfrozen", undefined],
    ["change_applied", idp],
  ]);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
});

test("a consent without the group stops counting once the intent requires the group", async () => {
  const before = await service({
    identityToken,
    intent: { ...requireGroups(), principals: { bo: { kind: "person" } } },
  });
  const change_id = await propose(before);
  await before.post("approve", { change_id }, token("ana"));
  const after = makeService(
    await openDeps({ store: before.deps.store, clock: before.deps.clock, identityToken, intent: requireGroups() }),
  );
  const rejected = await after.post("apply", { change_id }, token("bo"));
  expect([rejected.status, rejected.body.code]).toEqual([403, "consent_incomplete"]);
  expect((await after.post("approve", { change_id }, token("ana", "release"))).status).toBe(200);
  expect((await after.post("apply", { change_id }, token("bo"))).status).toBe(200);
});

test("a person with keys and groups needs both a signature and their own token", async () => {
  const signer = passkey();
  const principals = { ana: { ...person(signer), idp: ["release"] }, bo: { kind: "person" } };
  const api = await service({
    identityToken,
    intent: { principals, policy: { approvers: LISTED_NAMES, signed_only: false } },
  });
  const change_id = await propose(api);
  const sign = async (headers: HeadersInit, decision: "approve" | "deny" = "approve") => {
    const fields = { change_id, approver: "ana" };
    const asAna = { post: (path: string, sent = {}) => api.post(path, sent, token("ana")) };
    const statement = await requestStatement(asAna, { decision, ...fields });
    return (await api.post(decision, { ...fields, ...proofFields(signer, statement) }, headers)).body;
  };
  expect((await sign(token("ana"))).code).toBe("not_an_approver");
  expect((await sign(token("ana"), "deny")).code).toBe("not_an_approver");
  expect((await sign(token("bo", "release"))).code).toBe("not_an_approver");
  expect((await api.post("approve", { change_id }, token("ana", "release"))).body.code).toBe("proof_required");
  expect((await sign(token("ana", "release"))).approvals).toMatchObject([{ approver: "ana", idp: ["release"] }]);
});

test("a person with required groups cannot act by any other authentication", async () => {
  for (const [options, headers] of [
    [{}, {}],
    [{ identityHeader: "x-person" }, { "x-person": "ana" }],
    [{ person: () => "ana" }, {}],
    [{ adminToken: "an-admin-token-of-tests" }, { "x-svc-admin-token": "an-admin-token-of-tests" }],
  ] as const) {
    const api = await service({ ...options, intent: { ...requireGroups(), policy: {} } });
    const { change_id } = (await api.post("propose", { ...PROPOSAL, proposer: "ana" }, headers)).body;
    const { status, body } = await api.post("approve", { change_id, approver: "ana" }, headers);
    expect([status, body.code]).toEqual([403, "not_an_approver"]);
  }
});

test("a mandate's signature without the required groups stops counting", async () => {
  const store = memoryStore();
  const { activate, mandate } = await openWithMandates({ store });
  const id = await activate();
  expect(await mandate(id)).toMatchObject({ missing: [] });
  const { ana, ...others } = PRINCIPALS as Record<string, object>;
  const intent = { ...MANDATE_INTENT, principals: { ...others, ana: { ...ana, idp: ["release"] } } };
  const later = await openWithMandates({ store, intent });
  expect(await later.mandate(id)).toMatchObject({ missing: [{ rule: "required_approvers", count: 1 }] });
  // Test ids start again in each process: the first draft gets the id of the mandate above, so the second is used.
  await later.draft();
  const { mandate_id } = (await later.draft()).body;
  expect((await later.decideOn("mandate", mandate_id, "ana")).body.code).toBe("not_an_approver");
});

test("whoami and the offered actions of a change depend on the token's groups", async () => {
  const api = await service({ identityToken, intent: requireGroups() });
  const change_id = await propose(api);
  const readPermissions = async (headers: HeadersInit) => (await api.get("/api/whoami", headers)).body.may;
  const readOfferedActions = async (headers: HeadersInit) =>
    (await api.get(`changes/${change_id}`, headers)).body.caller.may;
  expect(await readPermissions(token("ana"))).toEqual(["read", "propose", "withdraw"]);
  expect(await readPermissions(token("ana", "release"))).toContain("approve");
  expect(await readOfferedActions(token("ana"))).toEqual([]);
  expect(await readOfferedActions(token("ana", "release"))).toEqual(expect.arrayContaining(["approve", "deny"]));
});

test.each([
  [{ a: { kind: "person", idp: [] } }, "principals.a.idp must name a group"],
  [{ a: { kind: "person", idp: [" "] } }, "principals.a.idp.0 must not be empty"],
  [{ a: { kind: "person", idp: "release" } }, "principals.a.idp must be a list"],
  [{ "agent:a": { kind: "agent", token_sha256: "a".repeat(64), idp: ["x"] } }, "idp are a person's groups"],
])("an intent with invalid groups is rejected: %j", (principals, message) => {
  expect(() => makeIntent({ principals })).toThrow(message);
});
