/** Cache of a shared store: records and pages as of one commit, valid until somebody makes another. */
import type { ListOptions } from "../store.ts";
import { inner, type Key, recordName, type Row, type Version } from "./view.ts";

/** A page of a collection. */
export interface Page {
  readonly collection: string;
  readonly options: ListOptions<boolean>;
}

/** A record that was read, or its absence. */
export type Found = Version | undefined;
export type Rows = readonly Row[];

/** Limit of cached records, and of cached pages, between two batches: characters of text, each record counted as some more. */
const MOST_TEXT = 16_000_000;
const EACH = 200;

/** The cache of a process. */
export interface Held {
  /** The commit as of which it holds; undefined where it holds nothing, or guesses. */
  readonly head: string | undefined;
  /** Returns the cached version of a record; undefined where none is known. */
  version(key: Key): { readonly found: Found } | undefined;
  rows(page: Page): Rows | undefined;
  learn(key: Key, found: Found): void;
  learnPage(page: Page, rows: Rows): void;
  /** Another process made this commit, and any record may have changed: empties the cache. */
  moveTo(next: string): void;
  /** This process made this commit, directly after the one before. */
  follow(next: string, writes: readonly Version[]): void;
  /** Copies the cache as guesses, for dry runs that find out what has to be read. */
  doubted(): Held;
  /** Drops the oldest records of a cache that is too large. Not within a batch, which would read them again. */
  bound(): void;
}

/** Creates a cache that is empty, or that has guesses until `moveTo` or `follow`. */
export function holding(
  versions = new Map<string, { found: Found }>(),
  pages = new Map<string, Map<string, { options: ListOptions<boolean>; rows: Rows }>>(),
): Held {
  let head: string | undefined;
  let size = 0;
  /** Size of all that was ever put into a cached page. */
  let sizeOfPages = 0;

  const letGoOfPages = (): void => {
    pages.clear();
    sizeOfPages = 0;
  };
  const drop = (name: string): void => {
    const known = versions.get(name);
    if (!known) return;
    size -= sizeOf(known.found);
    versions.delete(name);
  };
  const hold = (key: Key, found: Found): void => {
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
    learn: hold,
    learnPage({ collection, options }, rows) {
      inner(pages, collection).set(JSON.stringify(options), { options, rows });
      sizeOfPages += EACH + rows.reduce((sum, row) => sum + sizeOf(row), 0);
    },
    doubted: () =>
      holding(new Map(versions), new Map([...pages].map(([collection, each]) => [collection, new Map(each)]))),
    moveTo(next) {
      versions.clear();
      letGoOfPages();
      size = 0;
      head = next;
    },
    follow(next, writes) {
      head = next;
      for (const { collection, id, revision, json } of writes) {
        // Not the write itself, which has the version before, and with it all before that.
        const version = { collection, id, revision, json };
        hold(version, version);
        for (const [name, { options, rows }] of pages.get(version.collection) ?? []) {
          const after = replaceRow(rows, options, version);
          sizeOfPages += sizeOf(version);
          if (after) pages.get(version.collection)!.set(name, { options, rows: after });
          else pages.get(version.collection)!.delete(name);
        }
      }
    },
    bound() {
      for (const name of versions.keys()) {
        if (size <= MOST_TEXT) break;
        drop(name);
      }
      if (sizeOfPages > MOST_TEXT) letGoOfPages();
    },
  };
}

/** A page after a record was written; undefined where what follows its end is now in it. */
export function replaceRow(rows: Rows, options: ListOptions<boolean>, version: Version): Rows | undefined {
  const { limit, keysOnly = false } = options;
  const left = rows.filter(({ id }) => id !== version.id);
  if (left.length < rows.length && !version.json && rows.length === limit) return undefined;
  if (!version.json || !isWithin(version.id, options)) return left;
  const row: Row = keysOnly ? { id: version.id } : version;
  const place = left.findIndex(({ id }) => isBefore(version.id, id, options));
  return left.toSpliced(place === -1 ? left.length : place, 0, row).slice(0, limit);
}

const isBefore = (one: string, other: string, { reverse = false }: ListOptions<boolean>): boolean =>
  reverse ? one > other : one < other;

const isWithin = (id: string, options: ListOptions<boolean>): boolean =>
  id.startsWith(options.prefix ?? "") && (options.after === undefined || isBefore(options.after, id, options));

const sizeOf = (found: Found | Row): number => EACH + (found?.json?.text.length ?? 0);

/** Returns whether a record is at the same version: the same revision may be another text where the store is another copy. */
export const isSame = (one: Found | Row, other: Found | Row): boolean =>
  one === other ||
  (one !== undefined &&
    other !== undefined &&
    one.id === other.id &&
    one.revision === other.revision &&
    textOf(one) === textOf(other));

const textOf = ({ json }: Row): string | undefined => json?.text;

/** Returns whether a page has the same records. */
export const isSamePage = (one: Rows, other: Rows): boolean =>
  one === other || (one.length === other.length && one.every((row, index) => isSame(row, other[index])));
