/** How many records each governed write puts: what is not needed to decide is not written with a decision. */
import { beforeEach, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { POLICY_GUARDRAIL } from "../../../lib/changes/rules/actor.ts";
import { rollBackTripped } from "../../../lib/changes/guardrail_rollback.ts";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { expireDue } from "../../../lib/changes/expiry.ts";
import { type Core, core } from "../../support/core.ts";
import { countingStore, type Written } from "../../support/counting_store.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { fails, scriptedAdapter, type ScriptedAdapter } from "../../support/scripted_adapter.ts";

const POLICY = {
  minor: { kinds: ["config"], targets: ["ui.*"] },
  required_approvers: { standard: 1, major: 2 },
  guardrails: [{ kpi: "csat", max_regression: 0.5, action: "rollback" }],
  forbidden_targets: ["billing.*"],
  consent_ttl_hours: 72,
};

let api: Core;
let adapter: ScriptedAdapter;
let counted: ReturnType<typeof countingStore>;

async function open(withAdapter: boolean): Promise<void> {
  counted = countingStore(memoryStore());
  adapter = scriptedAdapter();
  api = await core({ store: counted.store, intent: { policy: POLICY }, ...(withAdapter ? { adapter } : {}) });
  // The manifest comes into force with the first entry.
  await api.post("kpi", { csat: 4 });
  counted.take();
}
beforeEach(() => open(true));

/** The collections that a step wrote to, transaction by transaction; ids are left out. */
async function written(step: () => Promise<unknown>): Promise<Written[]> {
  counted.take();
  await step();
  return counted.take().map((one) => one.map((record) => record.replace(/^(-?)(\w+)\/.*$/s, "$1$2")));
}

const ENTRY = ["audit", "changes"];

test("the first entry under a manifest is its own, and three records more", async () => {
  counted = countingStore(memoryStore());
  api = await core({ store: counted.store });
  const first = await written(() => api.propose());
  expect(first).toEqual([["audit", "meta", "manifests", ...ENTRY, "live_by_target", "meta"]]);
});

test("a proposal: entry, change, live row, head", async () => {
  expect(await written(() => api.propose())).toEqual([[...ENTRY, "live_by_target", "meta"]]);
});

test("a minor one: no more, since the log itself counts them", async () => {
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  expect(await written(() => api.propose(minor))).toEqual([[...ENTRY, "live_by_target", "meta"]]);
});

test("an approval, and one of two: entry, change, head", async () => {
  const { change_id } = await api.propose();
  expect(await written(() => api.must("approve", change_id))).toEqual([[...ENTRY, "meta"]]);
  const major = await api.propose({ tier: "major" });
  expect(await written(() => api.must("approve", major.change_id))).toEqual([[...ENTRY, "meta"]]);
});

test.each(["deny", "withdraw"] as const)("%s: and the live row goes", async (action) => {
  const { change_id } = await api.propose();
  expect(await written(() => api.must(action, change_id))).toEqual([[...ENTRY, "-live_by_target", "meta"]]);
});

test("an apply writes the lease; then entry, change, head, and owner instead of lease and row", async () => {
  const change_id = await api.bring("approved");
  expect(await written(() => api.must("apply", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-live_by_target", "owners", "kpi_applied", "meta"],
  ]);
});

test("an apply of a change that names a KPI: one more row by which guardrails find it", async () => {
  const change_id = await api.bring("approved", { kpi: "csat" });
  expect(await written(() => api.must("apply", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-live_by_target", "owners", "kpi_applied", "kpi_applied", "meta"],
  ]);
});

test("a rollback: the lease; then entry, change, head, and neither lease nor owner", async () => {
  const change_id = await api.bring("applied", { kpi: "csat" });
  expect(await written(() => api.must("rollback", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-owners", "meta"],
  ]);
});

test("an operation that fails: the lease; then entry, change, head", async () => {
  const change_id = await api.bring("approved");
  adapter.on("apply", fails("no"), 1);
  expect(await written(() => api.act("apply", change_id))).toEqual([["leases"], ["-leases", ...ENTRY, "meta"]]);
});

test("without an adapter there is no lease", async () => {
  await open(false);
  const change_id = await api.bring("approved");
  expect(await written(() => api.must("apply", change_id))).toEqual([
    [...ENTRY, "-live_by_target", "owners", "kpi_applied", "meta"],
  ]);
  expect(await written(() => api.must("rollback", change_id))).toEqual([[...ENTRY, "-owners", "meta"]]);
});

test("a feed writes entry, KPIs and head; a tripped guardrail makes a rollback due", async () => {
  const change_id = await api.bring("applied", { kpi: "csat" });
  expect(await written(() => api.post("kpi", { csat: 4 }))).toEqual([["kpi", "audit", "meta"]]);
  expect(await written(() => api.post("kpi", { csat: 3 }))).toEqual([
    ["kpi", "guardrail_marks", "guardrail_due", "audit", "meta"],
  ]);
  expect(await written(() => rollBackTripped(api.deps))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-owners", "-guardrail_due", "meta"],
  ]);
  expect(JSON.parse((await api.audit(`?change_id=${change_id}`)).at(-1).detail)).toMatchObject({
    by: POLICY_GUARDRAIL,
    actor: POLICY_GUARDRAIL,
    authenticated: null,
  });
});

test("drift: its episode, entry, change, head; and how far the round is", async () => {
  const change_id = await api.bring("applied");
  adapter.host.set(change_id, "absent");
  expect(await written(() => checkDrift(api.deps))).toEqual([["drift", ...ENTRY, "meta"], ["meta"]]);
});

test("an expiry is a denial, and many are taken in slices of at most 50 writes", async () => {
  const ids: string[] = [];
  for (let one = 0; one < 40; one++) ids.push((await api.propose({ target: `ui.x${one}` })).change_id);
  await pass(api.deps, 73 * HOUR);
  const slices = await written(() => expireDue(api.deps, ids));
  expect(slices.flat().filter((record) => record === "changes")).toHaveLength(40);
  expect(Math.max(...slices.map(({ length }) => length))).toBeLessThanOrEqual(50);
  expect(slices.at(-1)!.slice(0, 3)).toEqual([...ENTRY, "-live_by_target"]);
  expect(await written(() => expireDue(api.deps, ids))).toEqual([]);
});

test("a refusal: entry, count, head", async () => {
  const refused = () => api.post("propose", { tenant_id: "t1", kind: "config", target: "billing.x", summary: "s" });
  expect(await written(refused)).toEqual([["audit", "counts", "meta"]]);
});

test("nothing is written for what is refused without a record, read or rehearsed", async () => {
  const change_id = await api.bring("approved");
  expect(await written(() => api.act("approve", change_id))).toEqual([]);
  expect(await written(() => api.act("rollback", change_id))).toEqual([]);
  expect(await written(() => api.post("apply", { change_id, dry_run: 1 }))).toEqual([]);
  expect(await written(() => api.change(change_id))).toEqual([]);
});

test("an answer that is kept under its key is one record more", async () => {
  const kept = () => api.post("kpi", { csat: 4 }, { "idempotency-key": "k" });
  expect(await written(kept)).toEqual([["kpi", "audit", "meta", "idempotency"]]);
  expect(await written(kept)).toEqual([]);
});
