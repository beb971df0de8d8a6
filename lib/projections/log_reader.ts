/** Reads the log for projections, in pages that they share. */
import { entryKey } from "../audit/chain.ts";
import { readRecord, readRecords } from "../changes/records.ts";
import { loadIntent } from "../changes/rules/intent.ts";
import type { Store } from "../store/store.ts";
import { type Entry, parseEntry } from "./entries.ts";
import type { FactReader, ProjectedChange, ProjectedIntent, ProjectionDeps } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `ticks/<log length>`: the number of the last cycle at this length of the log. */
    ticks: { tick: number };
  }
}

/** Dependencies of reading the log. */
export type LogReaderDeps = Pick<ProjectionDeps, "store" | "sha256" | "product">;

/** Entries in chain order, with reads of the changes and intents that they name. */
export interface Batch {
  entries: readonly Entry[];
  facts: FactReader;
}

/** Reads entries after an id: at least one if there are any, and at most `limit`. */
export type LogReader = (after: number, limit: number) => Promise<Batch>;

const PAGE_SIZE = 64;
/** Cached pages. Projections are only a few pages apart, so the last one finds the pages that the first one read. */
const MAX_PAGES = 12;

/** Creates a reader of a log of some length. Errors: a missing entry, since nothing can be projected beyond it. */
export function createLogReader(deps: LogReaderDeps, length: number): LogReader {
  const pages = new Map<number, Promise<Batch>>();
  let origin: number | undefined;
  return async (after, limit) => {
    if (limit === 0) return { entries: [], facts: createFactReader(deps, []) };
    origin ??= after;
    // Pages are counted from the first read, so that a new entry is not read with many old ones.
    const start = Math.max(0, origin + Math.floor((after - origin) / PAGE_SIZE) * PAGE_SIZE);
    let page = pages.get(start);
    if (!page) {
      pages.set(start, (page = readPage(deps, start, Math.min(start + PAGE_SIZE, length))));
      page.catch(() => pages.delete(start));
      if (pages.size > MAX_PAGES) pages.delete(pages.keys().next().value!);
    }
    const { entries, facts } = await page;
    return { entries: entries.slice(after - start, after - start + limit), facts };
  };
}

async function readPage(deps: LogReaderDeps, after: number, last: number): Promise<Batch> {
  const limit = last - after;
  const rows = await deps.store.list("audit", { after: entryKey(after), limit });
  const gap = rows.findIndex(({ value }, index) => value.id !== after + 1 + index);
  if (gap !== -1 || rows.length < limit)
    throw new Error(`Audit entry ${after + 1 + (gap === -1 ? rows.length : gap)} is missing from the store.`);
  const entries = rows.map(({ value }) => parseEntry(value));
  return { entries, facts: createFactReader(deps, entries) };
}

/** Intents that were read, by manifest hash. */
const intentCaches = new WeakMap<Store, Map<string, ProjectedIntent>>();
const MAX_INTENTS = 16;

/**
 * Creates the reads for a page; all changes that it names are read in one request. They may return content that is erased
 * later: at the entry of the erasure, a projection removes what it derived from that content.
 */
function createFactReader({ store, sha256, product }: LogReaderDeps, entries: readonly Entry[]): FactReader {
  const currentIntent: ProjectedIntent = { kpis: product?.intent.kpis ?? {}, principals: {} };
  const intents = intentCaches.get(store) ?? new Map<string, ProjectedIntent>();
  intentCaches.set(store, intents);
  const changes = new Map<string, ProjectedChange>();
  /** The last answer of `readTick`: entries above `after`, up to and with `last`, have this `tick`. */
  let cycle = { after: 0, last: 0, tick: 0 };

  const readChanges = async (ids: readonly string[]): Promise<void> => {
    const records = await readRecords(store, ids);
    ids.forEach((id, index) => changes.set(id, records[index]?.change ?? erasedChange(id)));
  };
  let pageChanges: Promise<void> | undefined;
  const readPageChanges = (): Promise<void> => {
    const ids = new Set(entries.map(({ change_id }) => change_id).filter((id) => id !== ""));
    pageChanges ??= readChanges([...ids]).catch((error: unknown) => {
      pageChanges = undefined;
      throw error;
    });
    return pageChanges;
  };

  return {
    async readChange(changeId) {
      if (!changes.has(changeId)) await readPageChanges();
      if (!changes.has(changeId)) await readChanges([changeId]);
      return changes.get(changeId)!;
    },
    listEntries: async (changeId) => (await readRecord(store, changeId))?.audit ?? [],
    async readIntent(manifestHash) {
      if (manifestHash === null) return currentIntent;
      const cached = intents.get(manifestHash);
      if (cached) return cached;
      const text = (await store.get("manifests", manifestHash))?.value;
      if (text === undefined) return currentIntent;
      const { intent } = loadIntent(text, sha256);
      if (intents.size === MAX_INTENTS) intents.clear();
      intents.set(manifestHash, intent);
      return intent;
    },
    async readTick(entry) {
      if (cycle.after < entry && entry <= cycle.last) return cycle.tick;
      // A cycle is stored under the length that the log had, so an entry has the tick of the last cycle below its id, as have all
      // entries up to the next cycle's length. Without a next cycle that holds for this page only: one may be stored later.
      const [[before], [next]] = await Promise.all([
        store.list("ticks", { after: entryKey(entry), limit: 1, reverse: true }),
        store.list("ticks", { after: entryKey(entry - 1), limit: 1, keysOnly: true }),
      ]);
      const last = Math.min(Number(next?.id ?? Infinity), entries.at(-1)?.id ?? entry);
      cycle = { after: Number(before?.id ?? 0), last, tick: before?.value.tick ?? 0 };
      return cycle.tick;
    },
  };
}

/** Returns the data of a change whose record is missing, so that projections go on. */
const erasedChange = (change_id: string): ProjectedChange => ({
  change_id,
  tenant_id: "erased",
  kind: "config",
  risk: "low",
  reversible: true,
  target: "erased",
  summary: "erased",
  rationale: "",
  proposer: null,
  proposer_kind: "unknown",
  created_at: "",
  kpi: null,
  expected_delta_k: null,
  approver: null,
  approval_note: null,
  approvals: [],
  status: "rolled_back",
});
