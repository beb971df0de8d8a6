/** Stores with wrong lists, which the contract must find. In this file `c` is a collection. */
import type { ListOptions, Stored } from "../../lib/store/store.ts";
import { type BrokenStores, onLists, onPages, onReads, onTx, readPage } from "./wrapped_store.ts";

const NO_LIMIT = 1_000_000;
type Options = ListOptions<boolean>;
const keepOptions = (options: Options): Options => options;

const sortPage =
  (compare: (a: string, b: string) => number) =>
  (page: Stored[], { reverse }: Options): Stored[] =>
    page.sort((a, b) => compare(a.id, b.id) * (reverse ? -1 : 1));

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Stores whose lists are out of order, begin or end at a wrong id, or contain wrong records. */
export const brokenPages: BrokenStores = {
  "list ignores after": () => onPages(({ after: _, ...options }) => options),
  "list includes after": () =>
    onLists(async (reads, c, options) => {
      const first = options.after ? await reads.get(c, options.after) : undefined;
      return [...(first ? [first] : []), ...(await readPage(reads, c, options))].slice(0, options.limit);
    }),
  "list is empty if the id in after does not exist": () =>
    onLists(async (reads, c, options) =>
      options.after && !(await reads.get(c, options.after)) ? [] : readPage(reads, c, options),
    ),
  "list ignores limit": () => onPages((options) => ({ ...options, limit: NO_LIMIT })),
  "list treats a limit of 0 as no limit": () =>
    onPages((options) => ({ ...options, limit: options.limit || NO_LIMIT })),
  "list accepts any limit": () =>
    onPages((options) => ({ ...options, limit: Math.max(0, Math.trunc(options.limit) || 0) })),
  "list returns at most 10 records": () => onPages((options) => ({ ...options, limit: Math.min(10, options.limit) })),
  "list ignores reverse": () => onPages(({ reverse: _, ...options }) => options),
  "list reverses the page instead of the order": () =>
    onPages(
      ({ reverse: _, ...options }) => options,
      (page, { reverse }) => (reverse ? page.reverse() : page),
    ),
  "list uses the order of a locale": () =>
    onPages(
      keepOptions,
      sortPage((a, b) => a.localeCompare(b)),
    ),
  "list uses the order of UTF-8 bytes": () => onPages(keepOptions, sortPage(byBytes)),
  "list uses numeric order": () =>
    onPages(
      keepOptions,
      sortPage((a, b) => Number(a) - Number(b) || 0),
    ),
  "list returns every record with revision 1": () =>
    onPages(keepOptions, (page) => page.map((stored) => ({ ...stored, revision: 1 }))),
  "list returns values as text": () =>
    onPages(keepOptions, (page) => page.map((stored) => ({ ...stored, value: String(stored.value) }))),
  "list leaves large records out": () =>
    onPages(keepOptions, (page) => page.filter(({ value }) => JSON.stringify(value).length < 150_000)),
  // The case about 5,000 records reads pages of 700.
  "list repeats the 600th record of a page": () =>
    onPages(
      ({ limit, ...rest }) => ({ ...rest, limit: limit && limit - 1 }),
      (page) => [...page.slice(0, 600), ...page.slice(599)],
    ),
  "list misses records put again after a delete": () => {
    const deleted = new Set<string>();
    const { store } = onTx((tx) => ({
      delete(c, id, expected) {
        tx.delete(c, id, expected);
        deleted.add(id);
      },
    }));
    return {
      store: {
        ...store,
        list: async (c, options) => (await store.list(c, options)).filter(({ id }) => !deleted.has(id)),
      },
    };
  },
  "a transaction does not list its own writes": () => onTx((_, store) => ({ list: store.list })),
  "a transaction's deletes shorten its pages": () =>
    onTx((tx, store) => ({
      async list(c, options) {
        const own = new Set((await tx.list(c, { limit: NO_LIMIT })).map(({ id }) => id));
        const page = await store.list(c, options);
        const hidden = page.filter(({ id }) => !own.has(id)).length;
        return (await tx.list(c, options)).slice(0, options.limit - hidden);
      },
    })),
  "list ignores prefix": () => onPages(({ prefix: _, ...options }) => options),
  "list applies limit before prefix": () =>
    onPages(
      ({ prefix: _, ...options }) => options,
      (page, { prefix = "" }) => page.filter(({ id }) => id.startsWith(prefix)),
    ),
  "list leaves out the id that equals the prefix": () =>
    onPages(keepOptions, (page, { prefix }) => page.filter(({ id }) => id !== prefix)),
  "list treats prefix as after": () => onPages(({ prefix, ...options }) => ({ after: prefix ?? "", ...options })),
  "list ends a prefix range at the basic plane": () =>
    onPages(keepOptions, (page, { prefix }) => page.filter(({ id }) => !prefix || !id.endsWith("\uffff"))),
  "keysOnly is ignored": () => onPages(({ keysOnly: _, ...options }) => options),
  "keysOnly shows deleted records": () =>
    onTx((tx, store) => ({ list: (c, options) => (options.keysOnly ? store : tx).list(c, options) })),
  "texts returns another form of the JSON": () =>
    onReads(({ texts }) => ({
      texts: async (c, which) =>
        (await texts(c, which)).map(({ id, text }) => ({ id, text: JSON.stringify(JSON.parse(text), null, 1) })),
    })),
  "texts returns texts in the order of ids": () =>
    onReads(({ texts }) => ({
      texts: async (c, which) => (await texts(c, which)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    })),
  "texts does not see a transaction's own writes": () => onTx((_, store) => ({ texts: store.texts })),
  "getMany leaves out absent records": () =>
    onReads(({ getMany }) => ({ getMany: async (c, ids) => (await getMany(c, ids)).filter(Boolean) })),
  "getMany returns records in the order of their ids": () =>
    onReads(({ getMany }) => ({ getMany: (c, ids) => getMany(c, [...ids].sort()) })),
  "getMany returns an id requested twice only once": () =>
    onReads(({ getMany }) => ({ getMany: (c, ids) => getMany(c, [...new Set(ids)]) })),
  "getMany does not see a transaction's own writes": () => onTx((_, store) => ({ getMany: store.getMany })),
};
