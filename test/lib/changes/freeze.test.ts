/** A freeze and the intent's windows block every apply, and no rollback. */
import { expect, test } from "vitest";
import { HOUR, START } from "../../support/clock.ts";
import { core, makeCore, type Core } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service } from "../../support/service.ts";

const readGates = async (api: Core, change_id: string) =>
  (await api.change(change_id)).gates.filter(({ gate }) => gate === "freeze" || gate === "window");

test("a freeze blocks applies until it is lifted; both are logged", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  const frozen = await api.post("freeze", { actor: "ops", note: "month end" });
  const freeze = { actor: "ops", note: "month end", until: null, at: api.deps.clock.iso() };
  expect(frozen).toMatchObject({ status: 200, body: { frozen: true, freeze } });
  expect(frozen.body.audit_entry).toMatchObject({ event_type: "service_frozen", change_id: "", tenant: "" });
  const rejected = await api.act("apply", change_id);
  expect(rejected).toMatchObject({ status: 409, body: { code: "frozen", freeze } });
  expect(adapter.calls).toEqual([]);
  const message = 'the service is frozen by ops until somebody lifts it: "month end"';
  expect(await readGates(api, change_id)).toEqual([{ gate: "freeze", state: "block", message }]);
  const lifted = await api.post("unfreeze", { actor: "ana", note: "done" });
  expect(lifted).toMatchObject({ status: 200, body: { frozen: false, freeze: null } });
  expect(JSON.parse(lifted.body.audit_entry.detail)).toMatchObject({
    actor: "ana",
    authenticated: "claimed",
    note: "done",
  });
  expect(await readGates(api, change_id)).toEqual([]);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("a freeze with an end time ends exactly then", async () => {
  const api = await core();
  const change_id = await api.bring("approved");
  const until = new Date(api.deps.clock.now() + HOUR).toISOString();
  await api.post("freeze", { actor: "ops", until });
  api.deps.clock.advance(HOUR - 1);
  expect((await api.act("apply", change_id)).body.code).toBe("frozen");
  api.deps.clock.advance(1);
  expect(await readGates(api, change_id)).toEqual([]);
  expect((await api.post("unfreeze", { actor: "ops" })).body.code).toBe("illegal_transition");
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("consents, rollbacks and guardrail rollbacks work during a freeze and a closed window", async () => {
  const guardrails = [{ kpi: "csat", max_regression: 1, action: "rollback" }];
  const windows = { deny: [{ from: "2000-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" }] };
  const before = await core({ intent: { policy: { guardrails } } });
  await before.post("kpi", { csat: 4 });
  const guarded = await before.bring("applied", { kpi: "csat" });
  const other = await before.bring("applied", { target: "ui.other" });
  const api = makeCore(await restartDeps(before.deps, { intent: { policy: { guardrails, windows } } }));
  await api.post("freeze", { actor: "ops" });
  expect((await api.act("rollback", other)).status).toBe(200);
  expect(await api.bring("approved", { target: "ui.third" })).toMatch(/^chg_/);
  await api.post("kpi", { csat: 1 });
  expect((await api.cycle()).rolled_back).toBe(guarded);
});

test("a dry run works during a freeze and outside the windows", async () => {
  const adapter = scriptedAdapter();
  const windows = { deny: [{ from: "2000-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" }] };
  const api = await core({ adapter, intent: { policy: { windows } } });
  const change_id = await api.bring("approved");
  await api.post("freeze", { actor: "ops" });
  expect((await api.post("apply", { change_id, dry_run: 1 })).status).toBe(200);
});

test.each([
  ["without a name", { note: "now" }, "actor"],
  ["that ends now", { actor: "ops", until: START }, "until"],
  ["with an end that is no time", { actor: "ops", until: "tomorrow" }, "until"],
])("a freeze %s is rejected", async (_, fields, field) => {
  const api = await core();
  const rejected = await api.post("freeze", fields);
  expect(rejected).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field }] } });
  expect(await api.audit()).toEqual([]);
});

test("a longer freeze replaces the earlier one", async () => {
  const api = await core();
  await api.post("freeze", { actor: "ops", until: new Date(api.deps.clock.now() + HOUR).toISOString() });
  await api.post("freeze", { actor: "ana" });
  api.deps.clock.advance(2 * HOUR);
  const change_id = await api.bring("approved");
  expect((await api.act("apply", change_id)).body).toMatchObject({ code: "frozen", freeze: { actor: "ana" } });
});

test("a stored freeze that was edited or deleted is reported as a mismatch", async () => {
  const api = await core();
  await api.post("freeze", { actor: "ops" });
  const readMismatches = async () => {
    // A report is reused for a while.
    api.deps.clock.advance(HOUR);
    return (await api.get("audit/verify")).body.state.mismatches;
  };
  expect(await readMismatches()).toEqual([]);
  const { value } = (await api.deps.store.get("meta", "freeze"))!;
  await api.deps.store.transact((tx) => tx.put("meta", "freeze", { ...value, until: "2026-01-02T03:04:06.000Z" }));
  expect(await readMismatches()).toEqual([{ change_id: "", fields: ["freeze"] }]);
  await api.deps.store.transact((tx) => tx.delete("meta", "freeze"));
  expect(await readMismatches()).toEqual([{ change_id: "", fields: ["freeze"] }]);
  await api.deps.store.transact((tx) => tx.put("meta", "freeze", value));
  expect(await readMismatches()).toEqual([]);
});

test("outside a window an apply is rejected with the next opening; inside it works", async () => {
  // The test clock starts on a Friday at 03:04 UTC.
  const allow = [{ days: ["fri"], from: "04:00", to: "05:00", tz: "UTC" }];
  const api = await core({ intent: { policy: { windows: { allow } } } });
  const change_id = await api.bring("approved");
  const rejected = await api.act("apply", change_id);
  expect(rejected).toMatchObject({
    status: 409,
    body: { code: "outside_window", opens_at: "2026-01-02T04:00:00.000Z" },
  });
  expect((await readGates(api, change_id))[0]).toMatchObject({ gate: "window", state: "block" });
  api.deps.clock.advance(HOUR);
  expect(await readGates(api, change_id)).toEqual([]);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("the state and the growth log show a freeze", async () => {
  const api = await service();
  expect((await api.get("/api/state")).body.freeze).toBeNull();
  await api.post("freeze", { actor: "ops", note: "month end" });
  expect((await api.get("/api/state")).body.freeze).toMatchObject({ actor: "ops", note: "month end" });
  const { entries } = (await api.get("/api/log?kind=freeze")).body;
  expect(entries).toMatchObject([{ title: "Service frozen by ops", detail: "month end" }]);
});

test("a freeze can be replaced only by a freeze that ends later", async () => {
  const api = await core();
  const { change_id } = await api.propose();
  await api.must("approve", change_id);
  expect((await api.post("freeze", { actor: "security" })).status).toBe(200);
  const soon = new Date(api.deps.clock.now() + 1000).toISOString();
  expect(await api.post("freeze", { actor: "zed", until: soon })).toMatchObject({
    status: 400,
    body: { code: "invalid_field" },
  });
  api.deps.clock.advance(2000);
  expect((await api.act("apply", change_id)).body.code).toBe("frozen");
  await api.post("unfreeze", { actor: "security" });
  const later = new Date(api.deps.clock.now() + 5000).toISOString();
  const latest = new Date(api.deps.clock.now() + 9000).toISOString();
  for (const until of [later, latest]) expect((await api.post("freeze", { actor: "ops", until })).status).toBe(200);
  expect((await api.post("freeze", { actor: "ops", until: later })).status).toBe(400);
});
