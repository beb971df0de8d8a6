/** Tells who waits in this process that something was committed, so that nobody polls the store hot. */
/** Commits are counted, so that one between a look at the store and the wait is not missed. */
export interface CommitSignal {
  readonly count: number;
  notify(): void;
  /** Resolves at the next commit after `count`, after `ms` milliseconds, when `signal` aborts, or when it is closed. */
  wait(count: number, ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Counts one more listener and returns how it leaves; undefined when `most` of its kind are there, or `mostOfOne` of them
   * that gave the same name.
   */
  join(most: number, mostOfOne?: number, name?: string, kind?: string): (() => void) | undefined;
  /** Lets everybody go, for a process that stops. */
  close(): void;
  readonly closed: boolean;
}

/** A signal of which nothing was told yet. */
export function createCommitSignal(): CommitSignal {
  const waiting = new Set<() => void>();
  let count = 0;
  let closed = false;
  const listeners = new Set<{ kind: string | undefined; name: string | undefined }>();
  const release = (): void => {
    for (const go of waiting) go();
  };
  return {
    get count() {
      return count;
    },
    get closed() {
      return closed;
    },
    notify() {
      count++;
      release();
    },
    wait(seen, ms, signal) {
      if (closed || count !== seen || signal?.aborted) return Promise.resolve();
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
    join(most, mostOfOne = most, name, kind) {
      const ofKind = [...listeners].filter((other) => other.kind === kind);
      const ofOne = name === undefined ? [] : ofKind.filter((other) => other.name === name);
      if (ofKind.length >= most || ofOne.length >= mostOfOne) return undefined;
      const listener = { kind, name };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      closed = true;
      release();
    },
  };
}
