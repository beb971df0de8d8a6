/** What versions before 0.2 left half done in a store. */
import { expect, test } from "vitest";
import type { EarlierRecord } from "../../../lib/governance/records.ts";
import type { Reachable } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import { type Core, core, coreOf } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

/** A change whose record is as an earlier version kept it. */
async function left(status: Reachable, over: Partial<EarlierRecord> = {}) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring(status, { kpi: "csat" });
  await api.deps.store.transact(async (tx) => {
    const { change, audit } = (await tx.get("changes", change_id))!.value;
    tx.put("changes", change_id, { change, audit, operations: 1, ...over } as EarlierRecord);
  });
  return { api, adapter, change_id };
}

/** The claim of a process that is gone, and a start after it. */
async function claimed(operation: "apply" | "rollback", by?: string) {
  const before = await left(operation === "apply" ? "approved" : "applied");
  const { api, change_id } = before;
  const claim = {
    change_id,
    operation,
    owner: "gone",
    number: 1,
    at: api.deps.clock.iso(),
    ends: api.deps.clock.now(),
  };
  await api.deps.store.transact((tx) => tx.put("claims", change_id, { ...claim, ...(by ? { by } : {}) }));
  before.adapter.host.set(change_id, operation === "apply" ? "applied" : "rolled_back");
  return { ...before, after: coreOf(await restarted(api.deps)) };
}

const newest = async (api: Core) => {
  const entry = (await api.audit()).at(-1);
  return { event_type: entry.event_type, ...JSON.parse(entry.detail) };
};

test.each([
  ["apply", undefined, { event_type: "change_applied", actor: null, authenticated: null }],
  ["rollback", "ops", { event_type: "change_rolled_back", by: "ops", actor: "ops", authenticated: "proxy" }],
  ["rollback", "policy:guardrail", { by: "policy:guardrail", actor: "policy:guardrail", authenticated: null }],
] as const)("a claim on %s, asked for by %s, is taken up as a lease and settled", async (operation, by, told) => {
  const { after, change_id } = await claimed(operation, by);
  expect(await newest(after)).toMatchObject({ ...told, resolved_after_interruption: true });
  expect((await after.change(change_id)).status).toBe(operation === "apply" ? "applied" : "rolled_back");
  for (const collection of ["claims", "leases"] as const)
    expect(await after.deps.store.list(collection, { limit: 1 })).toEqual([]);
});

test("a claim that another process may still be working under stands in the way until its time is over", async () => {
  const { api, change_id } = await left("approved");
  const { clock, store } = api.deps;
  const claim = { change_id, operation: "apply", owner: "other", number: 1, at: clock.iso(), ends: clock.now() + HOUR };
  await store.transact((tx) => tx.put("claims", change_id, claim as never));
  const after = coreOf(await restarted(api.deps));
  expect((await after.act("apply", change_id)).body.code).toBe("operation_in_progress");
  clock.advance(HOUR);
  expect((await after.act("apply", change_id)).status).toBe(200);
});

test.each(["apply", "rollback"] as const)(
  "%s goes on from a record that lacks what its apply was about",
  async (action) => {
    const { api, change_id } = await left(action === "apply" ? "approved" : "applied");
    await api.must(action, change_id);
    const { value } = (await api.deps.store.get("changes", change_id))!;
    expect(value.applied).toMatchObject({ entry: expect.any(Number), kpis: {} });
    expect(value).not.toHaveProperty("operations");
    expect(await api.deps.store.list("owners", { limit: 2 })).toHaveLength(action === "apply" ? 1 : 0);
    api.deps.clock.advance(HOUR);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  },
);

test("an old record that does not fit its entries is not applied", async () => {
  const { api, change_id } = await left("pending_consent");
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value as EarlierRecord;
    const ghost = { approver: "ghost", note: "", at: record.change.created_at };
    tx.put("changes", change_id, { ...record, change: { ...record.change, status: "approved", approvals: [ghost] } });
  });
  expect((await api.act("apply", change_id)).body.code).toBe("evidence_mismatch");
});
