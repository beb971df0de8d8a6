/** A scenario for attacks on a running service, and its true log and records. */
import { entryKey } from "../../lib/audit/chain.ts";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { foldEntries } from "../../lib/changes/ledger/verify_record.ts";
import { pickContent } from "../../lib/changes/rules/content.ts";
import { toChange, type ChangeRecord } from "../../lib/changes/rules/record.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { fromStoredChange } from "../../lib/changes/rules/stored_record.ts";
import type { Collection, Store } from "../../lib/store/store.ts";
import { testClock } from "../support/clock.ts";
import { type Core, core, makeCore } from "../support/core.ts";
import { openDeps } from "../support/deps.ts";
import { countedIds } from "../support/ids.ts";
import { writeRecords } from "../support/write_records.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { exportLog } from "./real_log.ts";
import { parse } from "./world.ts";

const INTENT = {
  kpis: { csat: { baseline: 3, target: 5 } },
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 },
    guardrails: [{ kpi: "csat", max_regression: 0.5, action: "rollback" as const }],
    required_approvers: { major: 2 },
    on_conflict: "block" as const,
    on_stale: "block" as const,
  },
};
export const MINOR = { tier: "minor", target: "ui.small", affected_users: 1, risk: "low", reversible: true };
/** The Idempotency-Key of the scenario's approval whose response is stored. */
export const IDEMPOTENCY_KEY = "kept";

/** The collections that the scenario writes; a fork copies them. */
const COLLECTIONS: readonly Collection[] = [
  "audit",
  "changes",
  "counts",
  "guardrail_due",
  "guardrail_marks",
  "idempotency",
  "kpi",
  "kpi_applied",
  "live_by_target",
  "manifests",
  "merkle",
  "meta",
  "owners",
];

/** The log and the records before any attack. */
export interface Truth {
  entries: AuditEntry[];
  records: Map<string, ChangeRecord>;
  /** The approval under the Idempotency-Key: its change, and the response. */
  approval: { change_id: string; text: string };
}

/** Runs a scenario that leaves changes in each state. */
export async function runScenario(): Promise<{ api: Core; truth: Truth }> {
  const api = await core({ intent: INTENT, adapter: scriptedAdapter() });
  await api.post("kpi", { csat: 4 });
  const statuses = ["pending_consent", "approved", "applied", "rolled_back", "denied", "approved", "applied"] as const;
  for (const [index, status] of statuses.entries()) await api.bring(status, { target: `t.${status}.${index}` });
  await api.propose({ tier: "major", target: "t.major" });
  await api.propose({ ...MINOR, target: "ui.first" });
  await api.propose({ ...MINOR, target: "ui.second" });
  const { change_id } = await api.propose({ target: "t.kept" });
  const { text } = await api.post("approve", { change_id, approver: "ana" }, { "idempotency-key": IDEMPOTENCY_KEY });
  await api.must("apply", change_id);
  await api.must("revoke", await api.bring("approved", { target: "t.revoked" }));
  await api.post("kpi", { csat: 4.1 });
  const records = await api.deps.store.list("changes", { limit: 100 });
  const truth = {
    entries: parse(await exportLog(api.deps.store)),
    records: new Map(records.map((row) => [row.id, fromStoredChange(row)])),
    approval: { change_id, text },
  };
  return { api, truth };
}

/** Copies the service to a store of its own, under a new process. */
export async function forkCore({ deps }: Core): Promise<Core & { adapter: ReturnType<typeof scriptedAdapter> }> {
  const store = memoryStore();
  for (const collection of COLLECTIONS)
    await writeRecords(store, await deps.store.list(collection, { limit: 1000 }), (tx, { id, value }) =>
      tx.put(collection, id, value as never),
    );
  const adapter = scriptedAdapter();
  for (const { id, value } of await store.list("changes", { limit: 100 }))
    if (value.change.status === "applied") adapter.host.set(id, "applied");
  const ids = countedIds();
  // Skips ids that the copied changes have.
  for (let count = 0; count < 1000; count++) ids.uuid(0);
  const clock = testClock(deps.clock.iso());
  return { ...makeCore(await openDeps({ store, clock, ids, intent: INTENT, adapter })), adapter };
}

/** Returns a change's record as it was after its first `count` entries. */
export function makeEarlierRecord({ entries, records }: Truth, id: string, count: number): ChangeRecord {
  const current = records.get(id)!;
  const state = foldEntries(current.audit.slice(0, count).map((entryId) => entries[entryId - 1]))!;
  return { ...state, change: toChange(state, pickContent(current.change)) };
}

/** Replaces the entries of the log, which had `before` entries, and its head; the stored Merkle tree stays. */
export async function putLog(store: Store, entries: readonly AuditEntry[], before: number): Promise<void> {
  await writeRecords(store, entries, (tx, entry) => tx.put("audit", entryKey(entry.id), entry));
  const deleted = Array.from(
    { length: Math.max(0, before - entries.length) },
    (_, index) => entries.length + index + 1,
  );
  await writeRecords(store, deleted, (tx, id) => tx.delete("audit", entryKey(id)));
  await store.transact(async (tx) => {
    const { origin } = (await tx.get("meta", "chain"))!.value;
    const { id: length, current_hash: head, timestamp: at } = entries.at(-1)!;
    tx.put("meta", "chain", { origin, length, head, at });
  });
}
