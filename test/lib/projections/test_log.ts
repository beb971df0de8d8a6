/** An audit log to which a test appends entries directly, without the commands of changes. */
import { createChain, entryKey, nextEntry, readHead } from "../../../lib/audit/chain.ts";
import type { AuditEntry, EventType } from "../../../lib/audit/entry.ts";
import type { ProjectionDeps } from "../../../lib/projections/projection.ts";
import { PROJECTIONS } from "../../../lib/projections/projector.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import { createKeyedMutex } from "../../../lib/kit/keyed_mutex.ts";
import { portableSha256 as sha256 } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { HOUR, type TestClock, testClock } from "../../support/clock.ts";
import { countedIds } from "../../support/ids.ts";
import { silentLog } from "../../support/silent_log.ts";

/** A test log: functions that append entries, and the dependencies of projections. */
export type TestLog = Awaited<ReturnType<typeof createTestLog>>;

/** Creates the dependencies of projections, as another process on a store has them. */
export const projectionDeps = (
  store: Store,
  clock: TestClock = testClock(),
): ProjectionDeps & { clock: TestClock } => ({
  store,
  clock,
  sha256,
  integrity: {},
  mutex: createKeyedMutex(),
  log: silentLog,
});

/** Creates a new log in a store. */
export async function createTestLog(store: Store = memoryStore()) {
  const deps = projectionDeps(store);
  const { clock } = deps;
  const ids = countedIds();
  await store.transact((tx) => void createChain(tx, "acme-crm", { ids, sha256 }, clock.now()));

  const append = (event_type: EventType, detail: object, record?: ChangeRecord): Promise<AuditEntry> =>
    store.transact(async (tx) => {
      const { change_id, tenant_id: tenant } = record?.change ?? { change_id: "", tenant_id: "" };
      const next = nextEntry((await readHead(tx))!, { event_type, change_id, tenant, detail }, clock.iso(), sha256);
      tx.put("audit", entryKey(next.entry.id), next.entry);
      tx.put("meta", "chain", next.head);
      if (record) tx.put("changes", change_id, { ...record, audit: [...record.audit, next.entry.id] });
      return next.entry;
    });

  const readChangeRecord = async (changeId: string): Promise<ChangeRecord> =>
    (await store.get("changes", changeId))!.value as ChangeRecord;

  /** Appends an entry about a change, and updates the change's record with `fields`. */
  const appendStep = async (changeId: string, event_type: EventType, detail: object, fields: Partial<Change> = {}) => {
    const before = await readChangeRecord(changeId);
    return append(event_type, detail, { ...before, change: { ...before.change, ...fields } });
  };

  return {
    ...deps,
    append,
    appendStep,
    readChangeRecord,
    hours: (count: number) => clock.advance(count * HOUR),
    async propose(fields: Partial<Change> = {}): Promise<string> {
      const change: Change = {
        change_id: `chg_${ids.uuid(0)}`,
        tenant_id: "t1",
        kind: "config",
        target: "ui.banner",
        summary: "Show the banner",
        rationale: "",
        expected_delta_k: null,
        affected_users: null,
        reversible: true,
        tier: "standard",
        risk: "low",
        kpi: null,
        proposer: "pat",
        proposer_kind: "unknown",
        status: "pending_consent",
        resolution: null,
        created_at: clock.iso(),
        approver: null,
        approval_note: null,
        approvals: [],
        required_approvers: 1,
        decided_at: null,
        applied_at: null,
        rolled_back_at: null,
        digest: "",
        revision: 1,
        ...fields,
      };
      const { status, target, proposer } = change;
      await append("change_proposed", { status, target, proposer }, { change, audit: [], applied: null });
      return change.change_id;
    },
    approve: (id: string, approver = "ana", note = "") =>
      appendStep(
        id,
        "consent_decision",
        { status: "approved", decision: "approved", progress: "1 of 1", approver, note },
        { status: "approved", approver, approval_note: note, approvals: [{ approver, note, at: clock.iso() }] },
      ),
    deny: (id: string, approver = "ana", note = "", decision = "denied") =>
      appendStep(
        id,
        "consent_decision",
        { status: "denied", decision, approver, note },
        { status: "denied", approver, approval_note: note },
      ),
    apply: (id: string) =>
      appendStep(id, "change_applied", { status: "applied", adapter: null }, { status: "applied" }),
    rollBack: (id: string, by = "ana") =>
      appendStep(id, "change_rolled_back", { status: "rolled_back", adapter: null, by }, { status: "rolled_back" }),
    feed: (values: Record<string, number>, more: object = {}) =>
      append("kpi_refreshed", { values, E: null, refreshed: false, ...more }),
    /** Appends the entries of a change up to its apply, and returns its id. */
    async applied(fields: Partial<Change> = {}): Promise<string> {
      const id = await this.propose(fields);
      await this.approve(id);
      await this.apply(id);
      return id;
    },
  };
}

/** Reads all rows and cursors of projections as text. */
export async function storedRows(store: Store): Promise<Record<string, string>> {
  const rows: Record<string, string> = {};
  const collections = [...new Set(PROJECTIONS.flatMap(({ collections }) => [...collections])), "cursors"] as const;
  for (const collection of collections)
    for (const { id, value } of await store.list(collection, { limit: 100_000 }))
      rows[`${collection}/${id}`] = JSON.stringify(value);
  return rows;
}

/** Creates a seeded random number generator (mulberry32): numbers from 0 to 1, the same in every run. */
export function seededFractions(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
