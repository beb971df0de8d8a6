/**
 * The integrity scan: each cycle verifies a slice of the log and of the records, the newest entries and then the others in turn. An
 * edit of a recent entry is reported within two cycles, any other edit within one pass. The memory of the scan is bounded.
 */
import { readHead } from "../audit/chain.ts";
import type { Integrity } from "../audit/integrity.ts";
import { adoptStoredBreach, reportBreach } from "../audit/report_breach.ts";
import { LogBroken } from "../audit/tree.ts";
import { requireLogEnd, verifySlice } from "../audit/verify.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { adoptAcceptedLoss } from "./reload_after_loss.ts";
import type { ChangesDeps } from "./deps.ts";
import { readLedger } from "./ledger/ledger.ts";
import { addFields, type Mismatches, scanEntries, scanRecords } from "./ledger/scan_records.ts";
import type { Mismatch } from "./ledger/verify_record.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    scan?: ScanState;
  }
}

/** The position of the pass, and the mismatches that were found. */
interface ScanState {
  /** The pass goes down from this entry, and starts again at the log's end. */
  entry: number;
  /** The last change whose record the pass has scanned; empty at its beginning. */
  change: string;
  /** Number of entries, from the first one on, that scans and the complete pass before them have verified. */
  verified: number;
  /** When a slice was last scanned; milliseconds. */
  at: number;
  mismatches: Mismatches;
}

/** Minimum number of entries and records that one cycle verifies, and the number of cycles of a pass over a long log. */
const MIN_SLICE = 1000;
const ENTRY_BATCH_SIZE = 250;
const RECORD_BATCH_SIZE = 100;
/** Minimum time between two scans, since requested cycles may follow each other closely. */
const MIN_PAUSE_MS = 5000;
const MAX_MISMATCHES = 1000;

type ScanDeps = Pick<ChangesDeps, "store" | "sha256" | "clock" | "integrity" | "log" | "mutex">;

/** Scans one slice: reports a broken chain, and remembers changes that do not match the log. */
export async function scanIntegrity(deps: ScanDeps): Promise<void> {
  const { store, clock, integrity } = deps;
  await adoptAcceptedLoss(deps);
  await adoptStoredBreach(deps, store);
  const length = (await readHead(store))?.length ?? 0;
  const now = clock.now();
  const state = (integrity.scan ??= { entry: 0, change: "", verified: 0, at: -Infinity, mismatches: new Map() });
  // `abs`: the scan goes on if the clock was set back.
  if (integrity.breach || Math.abs(now - state.at) < MIN_PAUSE_MS) return;
  state.at = now;
  const slice = Math.max(MIN_SLICE, Math.ceil(length / MIN_SLICE));
  try {
    await requireLogEnd(deps);
    const newest = Math.max(0, length - slice);
    await scanLog(deps, state, { after: newest, end: length, withRecords: true });
    // The slice adjoins the verified entries before it, so all entries are verified.
    if (newest <= countVerifiedEntries(integrity)) state.verified = length;
    if (state.entry <= 0) state.entry = newest;
    const after = Math.max(0, state.entry - slice);
    await scanLog(deps, state, { after, end: state.entry, withRecords: false });
    state.entry = after;
    await scanPages(deps, state, slice);
    await forgetRepaired(deps, state.mismatches);
  } catch (error) {
    if (!(error instanceof LogBroken)) throw error;
    await reportBreach(deps, error.breach);
  }
}

/** Verifies entries, and that records name them; `withRecords`: also the records of their changes. */
async function scanLog(
  deps: ScanDeps,
  { mismatches }: ScanState,
  { after, end, withRecords }: { after: number; end: number; withRecords: boolean },
): Promise<void> {
  for (let from = after; from < end; from += ENTRY_BATCH_SIZE, await yieldToEventLoop()) {
    const entries = await verifySlice(deps, { after: from, limit: Math.min(ENTRY_BATCH_SIZE, end - from) });
    addMismatches(mismatches, await scanEntries(deps, entries));
    const ids = withRecords ? [...new Set(entries.map(({ change_id }) => change_id))].filter((id) => id !== "") : [];
    addMismatches(mismatches, await scanRecords(deps, await readStored(deps, ids)));
  }
}

async function scanPages(deps: ScanDeps, state: ScanState, count: number): Promise<void> {
  for (let scanned = 0; scanned < count; scanned += RECORD_BATCH_SIZE, await yieldToEventLoop()) {
    // Uncached, since a copy in memory would hide an edit of the stored record.
    const page = await deps.store.list("changes", { after: state.change, limit: RECORD_BATCH_SIZE, uncached: true });
    addMismatches(state.mismatches, await scanRecords(deps, page));
    state.change = page.length < RECORD_BATCH_SIZE ? "" : page.at(-1)!.id;
    if (state.change === "") return;
  }
}

/** Reads the changes again that were not read for longest; those that match the log are no mismatches any more. */
async function forgetRepaired(deps: ScanDeps, mismatches: Mismatches): Promise<void> {
  const oldest = [...mismatches].slice(0, RECORD_BATCH_SIZE);
  const repaired = await listRepaired(
    deps,
    oldest.map(([id]) => id),
  );
  for (const [id, fields] of oldest) {
    mismatches.delete(id);
    // At the end of the map, so that the next cycle reads others.
    if (!repaired.includes(id)) mismatches.set(id, fields);
  }
}

/** Lists the changes whose records match the log again. */
export async function listRepaired(deps: ScanDeps, ids: readonly string[]): Promise<string[]> {
  const records = await readStored(deps, ids);
  const mismatches = await scanRecords(deps, records);
  const repaired: string[] = [];
  for (const { id } of records) {
    if (mismatches.has(id)) continue;
    const { fields } = await readLedger(deps, (ledger) => ledger.change(id));
    if (fields.length === 0) repaired.push(id);
  }
  return repaired;
}

async function readStored({ store }: ScanDeps, ids: readonly string[]) {
  const stored = await store.getMany("changes", ids);
  return stored.flatMap((record) => record ?? []);
}

function addMismatches(mismatches: Mismatches, added: Mismatches): void {
  for (const [id, fields] of added)
    if (mismatches.size < MAX_MISMATCHES || mismatches.has(id))
      mismatches.set(id, addFields(mismatches.get(id), fields));
}

/** Remembers a change whose record did not match the log when it was read. */
export const rememberMismatch = ({ scan }: Integrity, id: string, fields: Mismatch): void => {
  if (scan) addMismatches(scan.mismatches, new Map([[id, fields]]));
};

/** Counts the entries, from the first one on, that this process has verified. */
export const countVerifiedEntries = ({ lastPass, scan }: Integrity): number =>
  Math.max(lastPass?.verified.length ?? 0, scan?.verified ?? 0);

/** Lists up to a thousand changes whose records are known not to match the log. */
export const listKnownMismatches = ({ scan }: Integrity): Mismatches => scan?.mismatches ?? new Map();
