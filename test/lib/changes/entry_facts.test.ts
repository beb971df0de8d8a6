/**
 * Facts that an entry records in addition to its action: the actor, their authentication, and data that later decisions need.
 * Entry 1 of each log is `intent_in_force`.
 */
import { expect, test } from "vitest";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { checkReadiness } from "../../../lib/operations/readiness.ts";
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { PROPOSAL } from "../../support/client.ts";
import { DAY } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

const parseDetails = async (api: Core): Promise<Record<string, unknown>[]> =>
  (await api.audit()).map(({ detail }) => JSON.parse(detail));
const newestDetail = async (api: Core) => (await parseDetails(api)).at(-1)!;

/** Proposes, approves, applies and rolls back a change; `isNamed` makes each request name its actor. */
async function performEveryStep(api: Core, headers: HeadersInit, isNamed: boolean): Promise<void> {
  const actor = isNamed ? { actor: "ana" } : {};
  const proposer = isNamed ? { proposer: "ana" } : {};
  const { change_id } = (await api.post("propose", { ...PROPOSAL, ...proposer }, headers)).body;
  await api.post("approve", { change_id, approver: "ana" }, headers);
  await api.post("apply", { change_id, ...actor }, headers);
  await api.post("rollback", { change_id, ...actor }, headers);
}

// The four steps are propose, approve, apply and rollback; a consent always names its approver.
test.each([
  ["requests without a name", {}, {}, false, [null, "claimed", null, null]],
  ["names without authentication", {}, {}, true, ["claimed", "claimed", "claimed", "claimed"]],
  [
    "names sent with the admin token",
    { adminToken: "secret-token" },
    { "x-svc-admin-token": "secret-token" },
    true,
    ["token", "token", "token", "token"],
  ],
  ["names from the proxy header", { identityHeader: "x-person" }, { "x-person": "ana" }, false, Array(4).fill("proxy")],
  ["names from the host's own log-in", { person: () => "ana" }, {}, false, Array(4).fill("proxy")],
] as const)("%s are recorded with their authentication", async (_, options, headers, isNamed, authenticated) => {
  const api = await core({ adapter: scriptedAdapter(), ...options });
  await performEveryStep(api, headers, isNamed);
  const facts = (await parseDetails(api)).slice(1);
  expect(facts.map((detail) => detail["authenticated"])).toEqual(authenticated);
  expect(facts.map(({ actor }) => actor)).toEqual(authenticated.map((kind) => (kind === null ? null : "ana")));
});

test("a caller named by the proxy may not send another name", async () => {
  const api = await core({ identityHeader: "x-person" });
  const { change_id } = (await api.post("propose", PROPOSAL, { "x-person": "pat" })).body;
  const ana = { "x-person": "ana" };
  await api.post("approve", { change_id, approver: "ana" }, ana);
  const asBo = { change_id, actor: "bo" };
  expect(await api.post("apply", asBo, ana)).toMatchObject({
    status: 403,
    body: { code: "identity_mismatch", field: "actor" },
  });
  // The status is checked before the name.
  expect(await api.post("rollback", asBo, ana)).toMatchObject({ status: 400, body: { code: "illegal_transition" } });
  expect((await api.post("apply", { change_id, actor: "Ana" }, ana)).status).toBe(200);
});

test("notes of applies, failed applies and rollbacks are in their entries", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", () => Promise.reject(new Error("no")), 1);
  for (const action of ["apply", "apply", "rollback"]) await api.post(action, { change_id, note: `${action} it` });
  expect((await parseDetails(api)).slice(-3).map(({ note }) => note)).toEqual(["apply it", "apply it", "rollback it"]);
  await api.must("apply", await api.bring("approved", { target: "ui.other" }));
  expect(await newestDetail(api)).not.toHaveProperty("note");
});

test("the deciding approval records the owner of the target", async () => {
  const api = await core();
  const first = await api.bring("applied");
  // It sets the same target for another tenant, so it is not the owner.
  await api.bring("applied", { tenant_id: "t2" });
  await api.bring("approved", { target: "UI.Banner" });
  expect((await newestDetail(api))["target_owner"]).toBe(first);
  await api.must("rollback", first);
  await api.bring("approved");
  // The change of `UI.Banner` was never applied.
  expect(await newestDetail(api)).toMatchObject({ target_owner: null });
});

test("an apply records the KPIs of that moment", async () => {
  const api = await core();
  await api.bring("applied");
  expect(await newestDetail(api)).toMatchObject({ kpis: {} });
  await api.post("kpi", { csat: 4, incident_rate: 0.03 });
  await api.post("kpi", { csat: 5 });
  const change_id = await api.bring("applied", { target: "ui.other" });
  expect(await newestDetail(api)).toMatchObject({ kpis: { csat: 5, incident_rate: 0.03 } });
  const { applied } = (await api.deps.store.get("changes", change_id))!.value;
  expect(applied).toEqual({
    entry: (await api.audit()).length,
    at: api.deps.clock.iso(),
    kpis: { csat: 5, incident_rate: 0.03 },
  });
});

const digest = (value: unknown): string => portableSha256(canonicalJson(value));

test.each<[string, object, unknown]>([
  ["a value", { previous: { value: { b: 1, a: [null] } } }, digest({ a: [null], b: 1 })],
  ["the value null", { previous: { value: null } }, digest(null)],
  ["nothing", { previous: null }, null],
  ["undefined", {}, undefined],
  ["a value that is no JSON", { previous: { value: undefined } }, undefined],
  ["a value that cannot be serialized", { previous: { value: 10n } }, undefined],
])("only the digest of the previous value is recorded when the adapter returns %s", async (_, reported, expected) => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", (change) => (adapter.host.set(change.change_id, "applied"), { result: "applied", ...reported }));
  const { body } = await api.act("apply", change_id);
  expect(body.adapter).toEqual({ name: "scripted", result: "applied" });
  const { adapter: recorded, ...detail } = await newestDetail(api);
  expect(recorded).toEqual(body.adapter);
  if (expected === undefined) expect(detail).not.toHaveProperty("previous_digest");
  else expect(detail["previous_digest"]).toBe(expected);
  const { applied } = (await api.deps.store.get("changes", change_id))!.value;
  expect(applied?.previous_digest).toBe(expected);
});

test("without an adapter no digest of the previous value is recorded", async () => {
  const api = await core();
  await api.bring("applied");
  expect(await newestDetail(api)).not.toHaveProperty("previous_digest");
});

test("a proposal records the change it supersedes, which must exist", async () => {
  const api = await core();
  const first = await api.bring("applied");
  const superseding = await api.propose({ supersedes: first });
  expect(superseding.supersedes).toBe(first);
  expect(await newestDetail(api)).toMatchObject({ supersedes: first });
  expect(await api.post("propose", { ...PROPOSAL, supersedes: "chg_none" })).toMatchObject({
    status: 400,
    body: { fields: [{ field: "supersedes" }] },
  });
});

test("minor changes are numbered within their UTC day", async () => {
  const api = await core({ intent: { policy: { minor: { kinds: ["config"], targets: ["*"], max_per_day: 2 } } } });
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  const numbers: unknown[] = [];
  for (const day of [0, 0, 0, 1]) {
    api.deps.clock.advance(day * DAY);
    await api.propose(minor);
    numbers.push((await newestDetail(api))["minor_number"]);
  }
  // The third one is over `max_per_day`, so it needs consent.
  expect(numbers).toEqual([1, 2, undefined, 1]);
});

test("a model's draft records its requester, its message and the model", async () => {
  const api = await core();
  const draft = { ...PROPOSAL, kind: "config", proposer: "llm:m1" } as const;
  await submitDraft(api.deps, draft, { asked_by: "ana", message_id: "msg_1" });
  expect(await newestDetail(api)).toMatchObject({
    proposer: "llm:m1",
    proposer_kind: "model",
    asked_by: "ana",
    message_id: "msg_1",
    actor: "llm:m1",
    authenticated: null,
  });
});

test("a KPI feed records its actor and the guardrails it tripped", async () => {
  const guardrails = [{ kpi: "csat", max_regression: 0.5, action: "alert" }];
  const intent = { policy: { guardrails } };
  const api = await core({ intent });
  await api.post("kpi", { csat: 4 });
  expect(await newestDetail(api)).not.toHaveProperty("tripped");
  const change_id = await api.bring("applied", { kpi: "csat" });
  const behindProxy = makeCore(await restartDeps(api.deps, { intent, identityHeader: "x-person" }));
  await behindProxy.post("kpi", { csat: 3 }, { "x-person": "feeder" });
  const evidence = { kpi: "csat", action: "alert", baseline: 4, value: 3, regression: 1, max_regression: 0.5 };
  expect(await newestDetail(api)).toMatchObject({
    values: { csat: 3 },
    tripped: [{ change_id, ...evidence }],
    actor: "feeder",
    authenticated: "proxy",
  });
});

test("a KPI feed records the actor and note that it sends", async () => {
  const token = "correct horse battery staple";
  const api = await core({ adminToken: token, identityHeader: "x-person" });
  const feed = (fields: object, headers: object = {}) =>
    api.post("kpi", { csat: 4, ...fields }, { "x-svc-admin-token": token, ...headers } as HeadersInit);
  expect((await feed({ actor: " warehouse ", note: "nightly" })).body.accepted).toEqual({ csat: 4 });
  expect(await newestDetail(api)).toMatchObject({ actor: "warehouse", note: "nightly", authenticated: "token" });
  expect((await feed({})).status).toBe(200);
  expect(await newestDetail(api)).toMatchObject({ actor: null, authenticated: "token" });
  expect(await newestDetail(api)).not.toHaveProperty("note");
  expect((await feed({ actor: "ana" }, { "x-person": "bo" })).body.code).toBe("identity_mismatch");
  expect(await api.post("kpi", { actor: "warehouse" }, { "x-svc-admin-token": token })).toMatchObject({
    status: 400,
    body: { code: "invalid_field" },
  });
});

test("a KPI named note is stored as a KPI, not as the feed's note", async () => {
  const api = await core({ intent: { kpis: { note: { baseline: 1, target: 2 } } } });
  expect((await api.post("kpi", { note: 1.5, actor: "ana" })).body.accepted).toEqual({ note: 1.5 });
  expect(await newestDetail(api)).toMatchObject({ actor: "ana", values: { note: 1.5 } });
});

const FORBIDDEN = { ...PROPOSAL, target: "billing.rate" };
const coreWithForbidden = () => core({ intent: { policy: { forbidden_targets: ["billing.*"] } } });
const listRejections = async (api: Core) =>
  (await api.audit("?event_type=proposal_refused&limit=1000")).map(({ detail }) => JSON.parse(detail));

test("a hundred rejections a day are logged, and the rest as one count on a later day", async () => {
  const api = await coreWithForbidden();
  const proposeForbidden = async (times: number) => {
    for (let sent = 0; sent < times; sent++) expect((await api.post("propose", FORBIDDEN)).status).toBe(403);
  };
  await proposeForbidden(103);
  expect(await listRejections(api)).toHaveLength(100);
  api.deps.clock.advance(3 * DAY);
  const day = api.deps.clock.iso().slice(0, 10);
  await proposeForbidden(1);
  const [count, next, ...more] = (await listRejections(api)).slice(100);
  expect(more).toEqual([]);
  expect(count).toEqual({ count: 3, day: "2026-01-02", actor: null, authenticated: null });
  expect(next).toMatchObject({ code: "forbidden_target", target: "billing.rate" });
  expect((await api.deps.store.get("counts", "refused"))?.value).toEqual({ day, count: 1 });
  api.deps.clock.advance(DAY);
  await proposeForbidden(1);
  // One more rejection, and no count, since all rejections of the day before are in the log.
  expect(await listRejections(api)).toHaveLength(103);
});

test("the rejection of a model's draft on a forbidden target is logged too", async () => {
  const api = await coreWithForbidden();
  const draft = { ...FORBIDDEN, kind: "config", proposer: "llm:m1" } as const;
  const filed = submitDraft(api.deps, draft, { asked_by: null, message_id: "msg_1" });
  await expect(filed).rejects.toMatchObject({ code: "forbidden_target" });
  expect(await listRejections(api)).toMatchObject([{ proposer: "llm:m1", actor: "llm:m1", authenticated: null }]);
});

test("a manifest is logged once before the first entry under it, and its text is stored", async () => {
  const before = await core();
  expect(await before.audit()).toEqual([]);
  await before.propose();
  const [inForce] = await before.audit();
  const { manifest, manifest_hash } = before.deps.product!;
  expect(inForce).toMatchObject({ id: 1, event_type: "intent_in_force", change_id: "", tenant: "" });
  expect(inForce.current_hash).toBe(hashEntry(inForce));
  expect(JSON.parse(inForce.detail)).toEqual({
    manifest_hash,
    product_id: "acme-crm",
    version: "2026.11",
    update_epoch: 3,
    approved_by: "head-of-product@acme.example",
    principals: {},
    actor: null,
    authenticated: null,
  });
  expect(portableSha256(manifest)).toBe(manifest_hash);

  const other = makeCore(await restartDeps(before.deps, { intent: { version: "2026.12" } }));
  for (let count = 0; count < 2; count++) await other.propose();
  expect((await other.audit()).map(({ event_type }) => event_type)).toEqual([
    "intent_in_force",
    "change_proposed",
    "intent_in_force",
    "change_proposed",
    "change_proposed",
  ]);
  const { store, product } = other.deps;
  expect((await store.get("meta", "intent"))?.value).toEqual({ manifest_hash: product!.manifest_hash });
  const stored = await store.list("manifests", { limit: 10 });
  expect(stored.map(({ id, value }) => [id, portableSha256(value)])).toEqual(stored.map(({ id }) => [id, id]));
  expect(stored).toHaveLength(2);
});

test("a process with an earlier epoch than the logged one writes nothing, and is not ready", async () => {
  const before = await core();
  const { change_id } = await before.propose();
  const newer = makeCore(await restartDeps(before.deps, { intent: { update_epoch: 4 } }));
  expect((await before.act("approve", change_id)).status, "the newer one has written nothing yet").toBe(200);
  await newer.propose();
  const length = (await newer.audit()).length;
  for (const rejected of [await before.post("propose", PROPOSAL), await before.act("apply", change_id)]) {
    expect(rejected).toMatchObject({ status: 503, body: { code: "intent_outdated" } });
    expect(rejected.body.error).toMatch(/update_epoch 3, and the log one of 4/);
  }
  expect((await checkReadiness(before.deps)).checks.intent).toMatchObject({ ok: false });
  expect((await checkReadiness(newer.deps)).ready).toBe(true);
  expect(await newer.audit()).toHaveLength(length);
  expect((await newer.act("apply", change_id)).status).toBe(200);
});

test("a request that writes no entry does not log the manifest", async () => {
  const api = await core();
  expect((await api.act("approve", "chg_none")).status).toBe(404);
  expect(await api.audit()).toEqual([]);
  expect(await api.deps.store.list("manifests", { limit: 1 })).toEqual([]);
});

test("a KPI stores the id of its own entry, after that of the manifest", async () => {
  const api = await core();
  const { body } = await api.post("kpi", { csat: 4 });
  expect(body.audit_entry.id).toBe(2);
  expect((await api.deps.store.get("kpi", "latest"))?.value.values["csat"]?.entry).toBe(2);
});
