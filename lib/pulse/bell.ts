/** Tells who waits in this process that something was committed, so that nobody polls the store hot. */
import type { Store } from "../store/store.ts";

/** Rings are counted, so that one between a look at the store and the wait is not missed. */
export interface Bell {
  readonly rings: number;
  ring(): void;
  /** Resolves at the next ring after `rings`, after `ms` milliseconds, when `signal` aborts, or when it is closed. */
  wait(rings: number, ms: number, signal?: AbortSignal): Promise<void>;
  /** Counts one more listener and returns how it leaves; undefined when `most` are there. */
  join(most: number): (() => void) | undefined;
  /** Lets everybody go, for a process that stops. */
  close(): void;
  readonly closed: boolean;
}

/** A bell that has not rung yet. */
export function createBell(): Bell {
  const waiting = new Set<() => void>();
  let rings = 0;
  let closed = false;
  let listeners = 0;
  const release = (): void => {
    for (const go of waiting) go();
  };
  return {
    get rings() {
      return rings;
    },
    get closed() {
      return closed;
    },
    ring() {
      rings++;
      release();
    },
    wait(seen, ms, signal) {
      if (closed || rings !== seen || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const go = (): void => {
          clearTimeout(timer);
          waiting.delete(go);
          signal?.removeEventListener("abort", go);
          resolve();
        };
        const timer = setTimeout(go, ms);
        waiting.add(go);
        signal?.addEventListener("abort", go);
      });
    },
    join(most) {
      if (listeners >= most) return undefined;
      listeners++;
      let left = false;
      return () => {
        if (!left) listeners--;
        left = true;
      };
    },
    close() {
      closed = true;
      release();
    },
  };
}

/** A store that rings after every transaction that was committed. */
export function ringing(store: Store, bell: Bell): Store {
  return {
    get: (collection, id) => store.get(collection, id),
    list: (collection, options) => store.list(collection, options),
    close: () => store.close(),
    async transact(decide) {
      const result = await store.transact(decide);
      bell.ring();
      return result;
    },
  };
}
