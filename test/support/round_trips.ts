/** A store that counts what it is asked: each request, and how many it takes one after the other. */
import { setImmediate } from "node:timers/promises";
import type { Reads, Store } from "../../lib/store/store.ts";

/** Requests to a store meanwhile. */
export interface Trips {
  /** Requests: each `get`, `getMany`, `list`, `texts`, `others` and transaction is one. */
  requests: number;
  /** Requests that had to wait for the answer to an earlier one; concurrent requests are one step. */
  steps: number;
  /** Number of reads of the chain's head. */
  heads: number;
  /** Each request in order. */
  asked: readonly string[];
}

/**
 * A real store with its requests counted. Each takes a turn of the event loop, so that it is seen what waits for what; not
 * where it is `prompt`, for clocks that a test moves.
 */
export function roundTrips(store: Store, { prompt = false } = {}): { store: Store; take(): Trips } {
  let asked: string[] = [];
  let steps = 0;
  let step: Promise<void> | undefined;
  const trip = (what: string): Promise<void> => {
    asked.push(what);
    if (prompt) return Promise.resolve();
    return (step ??= setImmediate(undefined).then(() => {
      steps++;
      step = undefined;
    }));
  };
  const reads: Reads = {
    get: (collection, id) => trip(`get ${collection}/${id}`).then(() => store.get(collection, id)),
    getMany: (collection, ids) => trip(`getMany ${collection}`).then(() => store.getMany(collection, ids)),
    list: (collection, options) => trip(`list ${collection}`).then(() => store.list(collection, options)),
    texts: (collection, which) => trip(`texts ${collection}`).then(() => store.texts(collection, which)),
  };
  return {
    store: {
      ...store,
      ...reads,
      transact: (decide) => trip("transact").then(() => store.transact(decide)),
      ...(store.others && { others: () => trip("others").then(() => store.others!()) }),
    },
    /** Returns the requests since the last call. */
    take() {
      const taken = { requests: asked.length, steps, heads: asked.filter(isHead).length, asked };
      asked = [];
      steps = 0;
      return taken;
    },
  };
}

const isHead = (what: string): boolean => what === "get meta/chain";
