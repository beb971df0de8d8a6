import type { ListOptions, Stored } from "../../lib/store/store.ts";
import { type BrokenStores, onPages, onReads, onTx } from "./wrapped_store.ts";

const MANY = 1_000_000;
const same = (options: ListOptions): ListOptions => options;

const sortedBy =
  (compare: (a: string, b: string) => number) =>
  (page: Stored[], { reverse }: ListOptions): Stored[] =>
    page.sort((a, b) => compare(a.id, b.id) * (reverse ? -1 : 1));

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Stores whose lists are out of order, begin or end at the wrong place, or show the wrong records. */
export const brokenPages: BrokenStores = {
  "list ignores after": () => onPages(({ limit, reverse = false }) => ({ limit, reverse })),
  "list includes after": () =>
    onReads(({ get, list }) => ({
      async list<T>(c: string, options: ListOptions) {
        const first = options.after ? await get<T>(c, options.after) : undefined;
        return [...(first ? [first] : []), ...(await list<T>(c, options))].slice(0, options.limit);
      },
    })),
  "list finds only an after that is there": () =>
    onReads(({ get, list }) => ({
      list: async <T>(c: string, options: ListOptions) =>
        options.after && !(await get(c, options.after)) ? [] : list<T>(c, options),
    })),
  "list ignores limit": () => onPages((options) => ({ ...options, limit: MANY })),
  "list takes a limit of 0 for none": () => onPages((options) => ({ ...options, limit: options.limit || MANY })),
  "list takes any limit": () =>
    onPages((options) => ({ ...options, limit: Math.max(0, Math.trunc(options.limit) || 0) })),
  "list gives 10 at most": () => onPages((options) => ({ ...options, limit: Math.min(10, options.limit) })),
  "list ignores reverse": () => onPages(({ reverse: _, ...options }) => options),
  "list turns the page round instead of the order": () =>
    onPages(
      ({ reverse: _, ...options }) => options,
      (page, { reverse }) => (reverse ? page.reverse() : page),
    ),
  "list is in the order of a language": () =>
    onPages(
      same,
      sortedBy((a, b) => a.localeCompare(b)),
    ),
  "list is in the order of UTF-8": () => onPages(same, sortedBy(byBytes)),
  "list is in the order of numbers": () =>
    onPages(
      same,
      sortedBy((a, b) => Number(a) - Number(b) || 0),
    ),
  "list gives every record as new": () => onPages(same, (page) => page.map((stored) => ({ ...stored, revision: 1 }))),
  "list gives values as text": () =>
    onPages(same, (page) => page.map((stored) => ({ ...stored, value: String(stored.value) }))),
  "list leaves large records out": () =>
    onPages(same, (page) => page.filter(({ value }) => JSON.stringify(value).length < 150_000)),
  "list repeats a record across pages": () =>
    onPages(
      ({ limit, ...rest }) => ({ ...rest, limit: limit && limit - 1 }),
      (page) => [...page.slice(0, 600), ...page.slice(599)],
    ),
  "list misses what was put again after a delete": () => {
    const deleted = new Set<string>();
    const { store } = onTx((tx) => ({
      delete(c, id, expected) {
        tx.delete(c, id, expected);
        deleted.add(id);
      },
    }));
    const { list } = store;
    return {
      store: {
        ...store,
        list: async <T>(c: string, options: ListOptions) =>
          (await list<T>(c, options)).filter(({ id }) => !deleted.has(id)),
      },
    };
  },
  "a transaction does not list its own writes": () => onTx((_, store) => ({ list: store.list })),
  "a transaction's deletes shorten its pages": () =>
    onTx((tx, store) => ({
      async list<T>(c: string, options: ListOptions) {
        const own = new Set((await tx.list(c, { limit: MANY })).map(({ id }) => id));
        const page = await store.list<T>(c, options);
        const hidden = page.filter(({ id }) => !own.has(id)).length;
        return (await tx.list<T>(c, options)).slice(0, options.limit - hidden);
      },
    })),
};
