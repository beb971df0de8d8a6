/** Wakes readers in this process when something was committed, so that they need not poll the store. */

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
  checkOthers(): Promise<boolean>;
  /** Source of the signal: a value that changes with each of their commits. */
  setOthersSource(readOthersVersion: () => Promise<string>): void;
  /**
   * Counts one more listener and returns how it leaves; undefined when `most` of its kind are there, or `maxPerName` of them
   * that gave the same name.
   */
  join(maxListeners: number, maxPerName?: number, name?: string, kind?: string): (() => void) | undefined;
  /** Lets everybody go, for a process that stops. */
  close(): void;
  readonly closed: boolean;
}

/** Returns a signal that has fired for no commit yet. */
export function createCommitSignal(): CommitSignal {
  const waiting = new Set<() => void>();
  let count = 0;
  let closed = false;
  let readOthersVersion: (() => Promise<string>) | undefined;
  let othersVersion: string | undefined;
  let check: Promise<boolean> | undefined;
  /** How many looks were begun, and how many of the first have ended well. */
  let checksStarted = 0;
  let lastCompletedCheck = 0;
  const listeners = new Set<{ kind: string | undefined; name: string | undefined }>();
  const release = (): void => {
    for (const wake of waiting) wake();
  };
  const notify = (): void => {
    count++;
    release();
  };
  /** One read at a time: a caller during a read gets the next one, which sees all commits so far. */
  const checkOthers = async (): Promise<boolean> => {
    await check;
    return (check ??= checkOthersOnce().finally(() => (check = undefined)));
  };
  const checkOthersOnce = async (): Promise<boolean> => {
    if (!readOthersVersion) return false;
    const number = ++checksStarted;
    try {
      const now = await readOthersVersion();
      // The first look tells of nobody knows when.
      if (now !== othersVersion) notify();
      othersVersion = now;
      lastCompletedCheck = number;
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
    checkOthers,
    setOthersSource(othersVersion) {
      readOthersVersion = othersVersion;
    },
    wait(knownCount, ms, signal) {
      if (closed || count !== knownCount || signal?.aborted) return Promise.resolve(true);
      const before = checksStarted;
      return new Promise((resolve) => {
        const finish = (moved: boolean): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve(moved);
        };
        const wake = (): void => finish(true);
        // A look of any waiter that began after this wait, and has ended, need not be repeated.
        const timeOver = async (): Promise<void> =>
          finish(!(lastCompletedCheck > before || (await checkOthers())) || count !== knownCount);
        const timer = setTimeout(timeOver, ms);
        waiting.add(wake);
        signal?.addEventListener("abort", wake);
      });
    },
    join(maxListeners, maxPerName = maxListeners, name, kind) {
      const sameKind = [...listeners].filter((other) => other.kind === kind);
      const sameName = name === undefined ? [] : sameKind.filter((other) => other.name === name);
      if (sameKind.length >= maxListeners || sameName.length >= maxPerName) return undefined;
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
