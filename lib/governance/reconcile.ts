/** Holds the stored changes against what the log says of them: a record edited beside the log shows here. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { GovernanceDeps } from "./deps.ts";
import { turn } from "../kit/turn.ts";
import { foldOf } from "./history.ts";
import type { Freeze } from "./rules/freeze.ts";
import { differences, isWhole, type StoredRecord } from "./rules/record.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    /** The comparison of the changes with the log. */
    reconciled?: { running?: Promise<StateReport>; last?: { report: StateReport; ended: number; took: number } };
  }
}

const SLICE = 500;
const CHANGES_A_SLICE = 100;
const MOST_LISTED = 100;
const TRIES = 3;
/** An answer this young is given again; one that took long is kept ten times as long as it took. */
const FRESH_MS = 5000;

/** A change whose record is not what the log says. */
export interface StateMismatch {
  change_id: string;
  /** The fields that differ; `record` when it is missing or no record, `log` when the log does not tell of it, or skips a step. */
  fields: string[];
}

/** What the comparison found. */
export interface StateReport {
  /** Changes compared; the freeze is compared too, and a mismatch of it is of no change. */
  compared: number;
  mismatched: number;
  /** The first hundred of them. */
  mismatches: StateMismatch[];
  /** Changes that moved each time they were looked at. */
  unsettled: number;
}

type Reconciling = Pick<GovernanceDeps, "store" | "sha256" | "clock" | "integrity">;

/** Compares every change with the log, in slices, never twice at once; a young answer is given again. */
export function reconcile(deps: Reconciling): Promise<StateReport> {
  const { clock, integrity } = deps;
  const memory = (integrity.reconciled ??= {});
  const started = clock.now();
  const age = memory.last ? started - memory.last.ended : Infinity;
  if (memory.last && age >= 0 && age < Math.max(FRESH_MS, 10 * memory.last.took))
    return Promise.resolve(memory.last.report);
  memory.running ??= pass(deps)
    .then((report) => {
      const ended = clock.now();
      memory.last = { report, ended, took: ended - started };
      return report;
    })
    .finally(() => {
      delete memory.running;
    });
  return memory.running;
}

async function pass(deps: Reconciling): Promise<StateReport> {
  const report: StateReport = { compared: 0, mismatched: 0, mismatches: [], unsettled: 0 };
  const note = (change_id: string, fields: string[] | undefined): void => {
    report.compared++;
    if (fields === undefined) report.unsettled++;
    else if (fields.length > 0 && ++report.mismatched <= MOST_LISTED) report.mismatches.push({ change_id, fields });
  };
  const log = census(deps);
  await log.catchUp();
  const unseen = new Set(log.counts.keys());
  for (let after = "", more = true; more; await turn()) {
    const page = await deps.store.list("changes", { after, limit: CHANGES_A_SLICE, uncached: true });
    const judged = await judge(deps, page);
    for (const [index, { id, value }] of page.entries()) {
      unseen.delete(id);
      const holds = judged[index]!.length === 0 && value.audit.length === log.counts.get(id);
      note(id, holds ? [] : await settle(deps, log, id));
    }
    after = page.at(-1)?.id ?? after;
    more = page.length === CHANGES_A_SLICE;
  }
  for (const id of unseen) note(id, await settle(deps, log, id));
  if (!(await freezeHolds(deps, log))) {
    report.mismatched++;
    report.mismatches.push({ change_id: "", fields: ["freeze"] });
  }
  return report;
}

/** Whether the freeze that is kept is the last that the log tells of; a record may have moved since the log was read. */
async function freezeHolds({ store }: Reconciling, log: Census): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    await log.catchUp();
    const kept = (await store.get("meta", "freeze"))?.value;
    const told = log.freeze();
    if (kept?.entry === told?.id && (!told || sameFreeze(kept!, told))) return true;
  }
  return false;
}

function sameFreeze({ actor, note, until }: Freeze, { detail }: AuditEntry): boolean {
  const told = JSON.parse(detail) as Freeze;
  return actor === told.actor && note === told.note && until === told.until;
}

/** A record may have moved since the log was read: it is read again after the log, before it is judged. */
async function settle(deps: Reconciling, log: Census, id: string): Promise<string[] | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    await log.catchUp();
    const [record] = await deps.store.list("changes", { prefix: id, limit: 1, uncached: true });
    const count = log.counts.get(id);
    if (record && count === undefined) return ["log"];
    const [fields] = record ? await judge(deps, [record]) : [["record"]];
    if (!record || fields!.length > 0) return fields;
    if (record.value.audit.length < count!) return ["audit"];
    if (record.value.audit.length === count) return [];
  }
  return undefined;
}

/** In which fields each record is not the fold of the entries that it names, which are read together. */
async function judge(
  { store, sha256 }: Reconciling,
  records: readonly { id: string; value: StoredRecord }[],
): Promise<string[][]> {
  const whole = records.filter(({ value }) => isWhole(value));
  const entries = await store.getMany(
    "audit",
    whole.flatMap(({ value }) => value.audit.map(entryKey)),
  );
  return records.map((record) => {
    const { id, value } = record;
    if (!whole.includes(record)) return ["record"];
    const own = entries.splice(0, value.audit.length);
    if (own.some((entry) => entry?.value.change_id !== id)) return ["audit"];
    const told = foldOf(own.map((entry) => entry!.value));
    return told ? differences(told, value, sha256) : ["log"];
  });
}

type Census = ReturnType<typeof census>;

/** How many entries the log has of each change, as far as it was read. */
function census({ store }: Reconciling) {
  const counts = new Map<string, number>();
  let length = 0;
  let frozen: AuditEntry | undefined;
  /** Reads on to the log's end. */
  const catchUp = async (): Promise<void> => {
    const end = (await readHead(store))?.length ?? 0;
    for (; length < end; await turn()) {
      const limit = Math.min(SLICE, end - length);
      const slice = await store.list("audit", { after: entryKey(length), limit, uncached: true });
      const gap = slice.findIndex(({ value }, index) => value.id !== length + index + 1);
      if (gap !== -1 || slice.length < limit)
        throw new Error(`audit entry ${length + 1 + (gap === -1 ? slice.length : gap)} is missing from the store`);
      for (const { value } of slice) {
        if (value.change_id !== "") counts.set(value.change_id, (counts.get(value.change_id) ?? 0) + 1);
        if (value.event_type === "service_frozen") frozen = value;
        if (value.event_type === "service_unfrozen") frozen = undefined;
      }
      length += limit;
    }
  };
  return { counts, catchUp, freeze: () => frozen };
}
