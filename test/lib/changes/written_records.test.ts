/** Records that each governed write stores: only those that decisions need. */
import { beforeEach, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { POLICY_GUARDRAIL } from "../../../lib/changes/rules/actor.ts";
import { rollBackTripped } from "../../../lib/changes/guardrail_rollback.ts";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { expireDue } from "../../../lib/changes/expire_changes.ts";
import { type Core, core } from "../../support/core.ts";
import { recordingStore, type WrittenKeys } from "../../support/recording_store.ts";
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
let recording: ReturnType<typeof recordingStore>;

async function openCore(withAdapter: boolean): Promise<void> {
  recording = recordingStore(memoryStore());
  adapter = scriptedAdapter();
  api = await core({ store: recording.store, intent: { policy: POLICY }, ...(withAdapter ? { adapter } : {}) });
  // The first entry also logs the manifest.
  await api.post("kpi", { csat: 4 });
  recording.take();
}
beforeEach(() => openCore(true));

/** Lists the collections that a step writes to, per transaction, without ids; "-" marks a deletion. */
async function listWrites(step: () => Promise<unknown>): Promise<WrittenKeys[]> {
  recording.take();
  await step();
  return recording.take().map((keys) => keys.map((key) => key.replace(/^(-?)(\w+)\/.*$/s, "$1$2")));
}

/**
 * A write about a change stores its entry and its record. Other collections: `meta` has the head of the log, `live_by_target` the
 * pending and approved changes, `owners` the applied ones, and `kpi_applied` those that guardrails watch, under `*` and their KPI.
 */
const ENTRY = ["audit", "changes"];

test("the first write under a manifest also writes the manifest and its entry", async () => {
  recording = recordingStore(memoryStore());
  api = await core({ store: recording.store });
  const first = await listWrites(() => api.propose());
  expect(first).toEqual([["audit", "meta", "manifests", ...ENTRY, "live_by_target", "meta"]]);
});

test("a proposal writes entry, change, live row and head", async () => {
  expect(await listWrites(() => api.propose())).toEqual([[...ENTRY, "live_by_target", "meta"]]);
});

test("a minor proposal writes the same records as a standard one", async () => {
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  expect(await listWrites(() => api.propose(minor))).toEqual([[...ENTRY, "live_by_target", "meta"]]);
});

test("an approval writes entry, change and head, whether it completes the quorum or not", async () => {
  const { change_id } = await api.propose();
  expect(await listWrites(() => api.must("approve", change_id))).toEqual([[...ENTRY, "meta"]]);
  const major = await api.propose({ tier: "major" });
  expect(await listWrites(() => api.must("approve", major.change_id))).toEqual([[...ENTRY, "meta"]]);
});

test.each(["deny", "withdraw"] as const)(
  "%s writes entry, change and head, and deletes the live row",
  async (action) => {
    const { change_id } = await api.propose();
    expect(await listWrites(() => api.must(action, change_id))).toEqual([[...ENTRY, "-live_by_target", "meta"]]);
  },
);

test("an apply replaces lease and live row by entry, change, owner, guardrail row and head", async () => {
  const change_id = await api.bring("approved");
  expect(await listWrites(() => api.must("apply", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-live_by_target", "owners", "kpi_applied", "meta"],
  ]);
});

test("an apply of a change with a KPI writes one more row for guardrails", async () => {
  const change_id = await api.bring("approved", { kpi: "csat" });
  expect(await listWrites(() => api.must("apply", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-live_by_target", "owners", "kpi_applied", "kpi_applied", "meta"],
  ]);
});

test("a rollback writes a lease, then entry, change and head, and deletes lease and owner", async () => {
  const change_id = await api.bring("applied", { kpi: "csat" });
  expect(await listWrites(() => api.must("rollback", change_id))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-owners", "meta"],
  ]);
});

test("a failed apply writes a lease, then entry, change and head, and deletes the lease", async () => {
  const change_id = await api.bring("approved");
  adapter.on("apply", fails("no"), 1);
  expect(await listWrites(() => api.act("apply", change_id))).toEqual([["leases"], ["-leases", ...ENTRY, "meta"]]);
});

test("without an adapter no lease is written", async () => {
  await openCore(false);
  const change_id = await api.bring("approved");
  expect(await listWrites(() => api.must("apply", change_id))).toEqual([
    [...ENTRY, "-live_by_target", "owners", "kpi_applied", "meta"],
  ]);
  expect(await listWrites(() => api.must("rollback", change_id))).toEqual([[...ENTRY, "-owners", "meta"]]);
});

test("a KPI feed writes KPIs, entry and head; a tripped guardrail also marks and due rows", async () => {
  const change_id = await api.bring("applied", { kpi: "csat" });
  expect(await listWrites(() => api.post("kpi", { csat: 4 }))).toEqual([["kpi", "audit", "meta"]]);
  expect(await listWrites(() => api.post("kpi", { csat: 3 }))).toEqual([
    ["kpi", "guardrail_marks", "guardrail_due", "audit", "meta"],
  ]);
  expect(await listWrites(() => rollBackTripped(api.deps))).toEqual([
    ["leases"],
    ["-leases", ...ENTRY, "-owners", "-guardrail_due", "meta"],
  ]);
  expect(JSON.parse((await api.audit(`?change_id=${change_id}`)).at(-1).detail)).toMatchObject({
    by: POLICY_GUARDRAIL,
    actor: POLICY_GUARDRAIL,
    authenticated: null,
  });
});

test("drift writes episode, entry, change and head, then the progress of the round", async () => {
  const change_id = await api.bring("applied");
  adapter.host.set(change_id, "absent");
  expect(await listWrites(() => checkDrift(api.deps))).toEqual([["drift", ...ENTRY, "meta"], ["meta"]]);
});

test("expiries are written like denials, in slices of at most 50 writes", async () => {
  const ids: string[] = [];
  for (let index = 0; index < 40; index++) ids.push((await api.propose({ target: `ui.x${index}` })).change_id);
  await pass(api.deps, 73 * HOUR);
  const slices = await listWrites(() => expireDue(api.deps, ids));
  expect(slices.flat().filter((record) => record === "changes")).toHaveLength(40);
  expect(Math.max(...slices.map(({ length }) => length))).toBeLessThanOrEqual(50);
  expect(slices.at(-1)!.slice(0, 3)).toEqual([...ENTRY, "-live_by_target"]);
  expect(await listWrites(() => expireDue(api.deps, ids))).toEqual([]);
});

test("a logged rejection writes entry, count and head", async () => {
  const proposeForbidden = () =>
    api.post("propose", { tenant_id: "t1", kind: "config", target: "billing.x", summary: "s" });
  expect(await listWrites(proposeForbidden)).toEqual([["audit", "counts", "meta"]]);
});

test("reads, dry runs and rejections that are not logged write nothing", async () => {
  const change_id = await api.bring("approved");
  expect(await listWrites(() => api.act("approve", change_id))).toEqual([]);
  expect(await listWrites(() => api.act("rollback", change_id))).toEqual([]);
  expect(await listWrites(() => api.post("apply", { change_id, dry_run: 1 }))).toEqual([]);
  expect(await listWrites(() => api.change(change_id))).toEqual([]);
});

test("an Idempotency-Key adds one record, and a repeated request writes nothing", async () => {
  const feedWithKey = () => api.post("kpi", { csat: 4 }, { "idempotency-key": "k" });
  expect(await listWrites(feedWithKey)).toEqual([["kpi", "audit", "meta", "idempotency"]]);
  expect(await listWrites(feedWithKey)).toEqual([]);
});
