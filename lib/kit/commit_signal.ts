/** Tells who waits in this process that something was committed, so that nobody polls the store hot. */
/** Commits are counted, so that one between a look at the store and the wait is not missed. */
export interface CommitSignal {
  readonly count: number;
  notify(): void;
  /**
   * Resolves at the next commit after `count`, after `ms` milliseconds, when `signal` aborts, or when it is closed; false:
   * the time is over, and nobody has committed anything meanwhile, so that there is nothing to look at.
   */
  wait(count: number, ms: number, signal?: AbortSignal): Promise<boolean>;
  /** Counts the commits of other processes so far; false where they cannot be counted. */
  look(): Promise<boolean>;
  /** Source of the signal: a value that changes with each of their commits. */
  askOthers(ask: () => Promise<string>): void;
  /**
   * Counts one more listener and returns how it leaves; undefined when `most` of its kind are there, or `mostOfOne` of them
   * that gave the same name.
   */
  join(most: number, mostOfOne?: number, name?: string, kind?: string): (() => void) | undefined;
  /** Lets everybody go, for a process that stops. */
  close(): void;
  readonly closed: boolean;
}

/** Returns a signal that has fired for no commit yet. */
export function createCommitSignal(): CommitSignal {
  const waiting = new Set<() => void>();
  let count = 0;
  let closed = false;
  let ask: (() => Promise<string>) | undefined;
  let others: string | undefined;
  let looking: Promise<boolean> | undefined;
  /** How many looks were begun, and how many of the first have ended well. */
  let begun = 0;
  let ended = 0;
  const listeners = new Set<{ kind: string | undefined; name: string | undefined }>();
  const release = (): void => {
    for (const go of waiting) go();
  };
  const notify = (): void => {
    count++;
    release();
  };
  /** One read at a time: a caller during a read gets the next one, which sees all commits so far. */
  const look = async (): Promise<boolean> => {
    await looking;
    return (looking ??= lookOnce().finally(() => (looking = undefined)));
  };
  const lookOnce = async (): Promise<boolean> => {
    if (!ask) return false;
    const number = ++begun;
    try {
      const now = await ask();
      // The first look tells of nobody knows when.
      if (now !== others) notify();
      others = now;
      ended = number;
      return true;
    } catch {
      return false;
    }
  };
  return {
    get count() {
      return count;
    },
    get closed() {
      return closed;
    },
    notify,
    look,
    askOthers(others) {
      ask = others;
    },
    wait(seen, ms, signal) {
      if (closed || count !== seen || signal?.aborted) return Promise.resolve(true);
      const before = begun;
      return new Promise((resolve) => {
        const leave = (moved: boolean): void => {
          clearTimeout(timer);
          waiting.delete(go);
          signal?.removeEventListener("abort", go);
          resolve(moved);
        };
        const go = (): void => leave(true);
        // A look of any waiter that began after this wait, and has ended, need not be repeated.
        const timeOver = async (): Promise<void> => leave(!(ended > before || (await look())) || count !== seen);
        const timer = setTimeout(timeOver, ms);
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
