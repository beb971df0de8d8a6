/** Holds the stored changes against what the log says of them: a record edited beside the log shows here. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Store } from "../store/store.ts";
import type { GovernanceDeps } from "./deps.ts";
import { type ChangeEvent, eventOf } from "./rules/event.ts";
import { type ChangeState, differences, isWhole, type StoredRecord } from "./rules/record.ts";
import { evolve } from "./rules/state_machine.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    /** The comparison of the changes with the log. */
    reconciled?: { running?: Promise<StateReport>; last?: { report: StateReport; ended: number; took: number } };
  }
}

const SLICE = 500;
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
  /** Changes compared. */
  compared: number;
  mismatched: number;
  /** The first hundred of them. */
  mismatches: StateMismatch[];
  /** Changes that moved each time they were looked at. */
  unsettled: number;
}

/** What the comparison needs. */
type Reconciling = Pick<GovernanceDeps, "store" | "sha256" | "clock" | "integrity">;

/** Compares every change with the log, in slices, never twice at once; a young answer is given again. */
export function reconcile(deps: Reconciling): Promise<StateReport> {
  const memory = (deps.integrity.reconciled ??= {});
  const { last } = memory;
  const age = last ? deps.clock.now() - last.ended : Infinity;
  if (last && age >= 0 && age < Math.max(FRESH_MS, 10 * last.took)) return Promise.resolve(last.report);
  memory.running ??= pass(deps)
    .then(({ report, started }) => {
      const ended = deps.clock.now();
      memory.last = { report, ended, took: ended - started };
      return report;
    })
    .finally(() => {
      delete memory.running;
    });
  return memory.running;
}

async function pass({ store, sha256, clock }: Reconciling): Promise<{ report: StateReport; started: number }> {
  const started = clock.now();
  const log = foldedLog(store, sha256);
  const report: StateReport = { compared: 0, mismatched: 0, mismatches: [], unsettled: 0 };
  const note = (change_id: string, fields: string[] | undefined): void => {
    report.compared++;
    if (fields === undefined) report.unsettled++;
    else if (fields.length > 0 && ++report.mismatched <= MOST_LISTED) report.mismatches.push({ change_id, fields });
  };

  await log.catchUp();
  const unseen = new Set(log.changes());
  for (let after = "", more = true; more; await pause()) {
    const page = await store.list("changes", { after, limit: SLICE });
    for (const { id, value } of page) {
      unseen.delete(id);
      const fields = log.compare(id, value);
      note(id, fields?.length === 0 ? fields : await settle(store, log, id));
    }
    after = page.at(-1)?.id ?? after;
    more = page.length === SLICE;
  }
  for (const id of unseen) note(id, await settle(store, log, id));
  return { report, started };
}

/** A record that differs may have moved since the log was read: it is read again after the log, before it is judged. */
async function settle(store: Store, log: FoldedLog, id: string): Promise<string[] | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const record = (await store.get("changes", id))?.value;
    const fields = log.compare(id, record);
    if (fields) return fields;
    await log.catchUp();
    if (log.length < record!.audit.at(-1)!) return ["audit"];
  }
  return undefined;
}

/** A change as far as the log was read: what its entries come to, up to the first that does not follow. */
interface Told {
  state: ChangeState | undefined;
  sound: boolean;
}

type FoldedLog = ReturnType<typeof foldedLog>;

/** The log folded as far as it was read. */
function foldedLog(store: Store, sha256: Sha256) {
  const told = new Map<string, Told>();
  let length = 0;
  const take = (event: ChangeEvent): void => {
    const { state, sound } = told.get(event.change_id) ?? { state: undefined, sound: true };
    const next = sound ? evolve(state, event) : undefined;
    told.set(event.change_id, { state: next ?? state, sound: next !== undefined });
  };
  return {
    get length() {
      return length;
    },
    changes: () => told.keys(),
    /** Reads on to the log's end. */
    async catchUp(): Promise<void> {
      const end = (await readHead(store))?.length ?? 0;
      while (length < end) {
        const read = length;
        const slice = await store.list("audit", { after: entryKey(length), limit: Math.min(SLICE, end - length) });
        for (const { value: entry } of slice) {
          if (entry.id !== length + 1) break;
          if (entry.change_id !== "") take(brief(eventOf(entry), sha256));
          length++;
        }
        if (length < Math.min(read + SLICE, end))
          throw new Error(`audit entry ${length + 1} is missing from the store`);
        await pause();
      }
    },
    /** The fields that differ; undefined when the record is ahead of what was read of the log. */
    compare(id: string, record: StoredRecord | undefined): string[] | undefined {
      if (!record || !isWhole(record)) return ["record"];
      if ((record.audit.at(-1) ?? 0) > length) return undefined;
      const { state, sound } = told.get(id) ?? { state: undefined, sound: false };
      if (!state) return ["log"];
      const differing = differences(state, briefed(record, sha256), sha256);
      return sound ? differing : ["log", ...differing];
    },
  };
}

/** Notes are long, and there are as many as decisions: their hashes tell as well whether two are the same. */
function brief(event: ChangeEvent, sha256: Sha256): ChangeEvent {
  const { note } = event.detail;
  return typeof note === "string" ? { ...event, detail: { ...event.detail, note: sha256(note) } } : event;
}

function briefed<R extends StoredRecord>(record: R, sha256: Sha256): R {
  const { approval_note, approvals } = record.change;
  const change = {
    ...record.change,
    approval_note: approval_note === null ? null : sha256(approval_note),
    approvals: approvals.map((approval) => ({ ...approval, note: sha256(approval.note) })),
  };
  return { ...record, change };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
