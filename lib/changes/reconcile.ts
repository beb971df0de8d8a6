/** Compares all stored changes with the log, to find records that were edited without an entry. */
import { readHead } from "../audit/chain.ts";
import { readLaterEntries } from "../audit/page.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { listPages } from "../store/pages.ts";
import type { ChangesDeps } from "./deps.ts";
import { addFields, scanEntries, scanRecords } from "./ledger/scan_records.ts";
import { createLatestState } from "./latest_from_log.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    /** The comparison of the changes with the log. */
    reconciled?: { running?: Promise<StateReport>; last?: { report: StateReport; ended: number; took: number } };
  }
}

const ENTRIES_PER_READ = 500;
const CHANGES_PER_PAGE = 100;
const MAX_LISTED_MISMATCHES = 100;
/** Age up to which a report is returned again; a report that took long is reused for ten times its duration. */
const FRESH_MS = 5000;

/** A change whose record does not match the log. */
export interface StateMismatch {
  /** Empty for a mismatch of the freeze, the KPIs or the mandates. */
  change_id: string;
  /** Names of fields and indexes, as in `Mismatch` of `ledger/verify_record.ts`. */
  fields: readonly string[];
}

/** Result of the comparison. */
export interface StateReport {
  /** Number of compared changes. */
  compared: number;
  mismatched: number;
  /** The first hundred mismatches. */
  mismatches: StateMismatch[];
  /** Always 0: records and entries are read in an order in which no concurrent write is missed. */
  unsettled: number;
}

type ReconcileDeps = Pick<ChangesDeps, "store" | "sha256" | "clock" | "integrity">;

/**
 * Compares every change with the log, in slices. Concurrent calls share one comparison, and a recent report is returned again.
 */
export function reconcile(deps: ReconcileDeps): Promise<StateReport> {
  const { clock, integrity } = deps;
  const memory = (integrity.reconciled ??= {});
  const started = clock.now();
  const age = memory.last ? started - memory.last.ended : Infinity;
  if (memory.last && age >= 0 && age < Math.max(FRESH_MS, 10 * memory.last.took))
    return Promise.resolve(memory.last.report);
  memory.running ??= compareAll(deps)
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

async function compareAll(deps: ReconcileDeps): Promise<StateReport> {
  const { store } = deps;
  const report: StateReport = { compared: 0, mismatched: 0, mismatches: [], unsettled: 0 };
  const mismatched = new Set<string>();
  const listed = new Map<string, StateMismatch>();
  const addToReport = (mismatches: Iterable<[change_id: string, fields: readonly string[]]>): void => {
    for (const [change_id, fields] of mismatches) {
      const earlier = listed.get(change_id);
      if (earlier) {
        earlier.fields = addFields(earlier.fields, fields);
        continue;
      }
      report.mismatched = mismatched.add(change_id).size;
      if (listed.size >= MAX_LISTED_MISMATCHES) continue;
      const mismatch = { change_id, fields };
      listed.set(change_id, mismatch);
      report.mismatches.push(mismatch);
    }
  };
  for await (const page of listPages(store, "changes", { limit: CHANGES_PER_PAGE, uncached: true })) {
    report.compared += page.length;
    addToReport(await scanRecords(deps, page));
    await yieldToEventLoop();
  }
  const latest = createLatestState(store);
  const end = (await readHead(store))?.length ?? 0;
  for (let after = 0; after < end; after += ENTRIES_PER_READ, await yieldToEventLoop()) {
    const entries = await readLaterEntries(store, after, Math.min(ENTRIES_PER_READ, end - after));
    latest.fold(entries);
    addToReport(await scanEntries(deps, entries));
  }
  const stateMismatches = await latest.mismatches();
  if (stateMismatches.length > 0) addToReport([["", stateMismatches]]);
  return report;
}
