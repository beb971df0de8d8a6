/**
 * Cache of a shared store: records and pages as of one commit, valid until another process commits. A version without `json` is
 * that of a deleted record.
 */
import type { ListOptions } from "../store.ts";
import { getInnerMap, type Key, recordName, type Row, type Version } from "./view.ts";

/** A page of a collection. */
export interface Page {
  readonly collection: string;
  readonly options: ListOptions<boolean>;
}

/** The last version of a record; undefined for a record that never existed. */
export type CachedVersion = Version | undefined;
export type Rows = readonly Row[];

/** Limit of cached records, and the same for cached pages, between two batches; characters of text. */
const MAX_CACHED_CHARACTERS = 16_000_000;
/** Size of a record without its text; characters. */
const RECORD_OVERHEAD = 200;

/** Cached records and pages. */
export interface ReadCache {
  /** The commit whose state is cached; undefined while nothing is cached. */
  readonly head: string | undefined;
  /** Returns the cached version of a record; undefined if it is not cached. */
  version(key: Key): { readonly found: CachedVersion } | undefined;
  rows(page: Page): Rows | undefined;
  add(key: Key, found: CachedVersion): void;
  addPage(page: Page, rows: Rows): void;
  /** Empties the cache when another process made the commit `head`, which may have changed any record. */
  reset(head: string): void;
  /** Applies a commit of this process that directly follows the cached commit. */
  advance(head: string, writes: readonly Version[]): void;
  /** Removes the oldest records from a cache that is too large. Not called during a batch, which may still read them. */
  trim(): void;
}

/** Creates an empty cache. */
export function createReadCache(): ReadCache {
  const versions = new Map<string, { found: CachedVersion }>();
  const pages = new Map<string, Map<string, { options: ListOptions<boolean>; rows: Rows }>>();
  let head: string | undefined;
  let size = 0;
  /** Size of all rows that were added to cached pages, including replaced ones. */
  let sizeOfPages = 0;

  const clearPages = (): void => {
    pages.clear();
    sizeOfPages = 0;
  };
  const drop = (name: string): void => {
    const cached = versions.get(name);
    if (!cached) return;
    size -= sizeOf(cached.found);
    versions.delete(name);
  };
  const cacheVersion = (key: Key, found: CachedVersion): void => {
    const name = recordName(key);
    drop(name);
    versions.set(name, { found });
    size += sizeOf(found);
  };

  return {
    get head() {
      return head;
    },
    version: (key) => versions.get(recordName(key)),
    rows: ({ collection, options }) => pages.get(collection)?.get(JSON.stringify(options))?.rows,
    add: cacheVersion,
    addPage({ collection, options }, rows) {
      getInnerMap(pages, collection).set(JSON.stringify(options), { options, rows });
      sizeOfPages += RECORD_OVERHEAD + rows.reduce((sum, row) => sum + sizeOf(row), 0);
    },
    reset(next) {
      versions.clear();
      clearPages();
      size = 0;
      head = next;
    },
    advance(next, writes) {
      head = next;
      for (const { collection, id, revision, json } of writes) {
        // Not the write itself: it refers to the version before it, which would stay in memory.
        const version = { collection, id, revision, json };
        cacheVersion(version, version);
        for (const [name, { options, rows }] of pages.get(version.collection) ?? []) {
          const updated = replaceRow(rows, options, version);
          sizeOfPages += sizeOf(version);
          if (updated) pages.get(version.collection)!.set(name, { options, rows: updated });
          else pages.get(version.collection)!.delete(name);
        }
      }
    },
    trim() {
      for (const name of versions.keys()) {
        if (size <= MAX_CACHED_CHARACTERS) break;
        drop(name);
      }
      if (sizeOfPages > MAX_CACHED_CHARACTERS) clearPages();
    },
  };
}

/**
 * Returns a page after a record was written. Undefined if the page was full and lost a record: the row that moves up into it is not
 * cached.
 */
export function replaceRow(rows: Rows, options: ListOptions<boolean>, version: Version): Rows | undefined {
  const { limit, keysOnly = false } = options;
  const others = rows.filter(({ id }) => id !== version.id);
  if (others.length < rows.length && !version.json && rows.length === limit) return undefined;
  if (!version.json || !isInRange(version.id, options)) return others;
  const row: Row = keysOnly ? { id: version.id } : version;
  const insertAt = others.findIndex(({ id }) => isBefore(version.id, id, options));
  return others.toSpliced(insertAt === -1 ? others.length : insertAt, 0, row).slice(0, limit);
}

const isBefore = (id: string, otherId: string, { reverse = false }: ListOptions<boolean>): boolean =>
  reverse ? id > otherId : id < otherId;

const isInRange = (id: string, options: ListOptions<boolean>): boolean =>
  id.startsWith(options.prefix ?? "") && (options.after === undefined || isBefore(options.after, id, options));

const sizeOf = (found: CachedVersion | Row): number => RECORD_OVERHEAD + (found?.json?.text.length ?? 0);
