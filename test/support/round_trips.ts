/** A store that counts its requests, and how many of them run one after another. */
import { setImmediate } from "node:timers/promises";
import type { Reads, Store } from "../../lib/store/store.ts";

/** Requests to a store since the last call of `take`. */
export interface Trips {
  /** Number of requests; each `get`, `getMany`, `list`, `texts`, `others` and transaction is one. */
  requests: number;
  /** Number of sequential steps; concurrent requests are one step. 0 with `immediate`. */
  steps: number;
  /** Number of reads of the chain's head. */
  heads: number;
  /** Names of the requests, in order. */
  names: readonly string[];
}

/**
 * Wraps a store and counts its requests. Each request waits for one turn of the event loop, which shows which requests are
 * sequential; with `immediate` they do not wait, for tests that move the clock.
 */
export function roundTrips(store: Store, { immediate = false } = {}): { store: Store; take(): Trips } {
  let requests: string[] = [];
  let steps = 0;
  let step: Promise<void> | undefined;
  const trip = (request: string): Promise<void> => {
    requests.push(request);
    if (immediate) return Promise.resolve();
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
    /** Returns the requests since the last call, and starts counting again. */
    take() {
      const taken = { requests: requests.length, steps, heads: requests.filter(isHead).length, names: requests };
      requests = [];
      steps = 0;
      return taken;
    },
  };
}

const isHead = (request: string): boolean => request === "get meta/chain";
