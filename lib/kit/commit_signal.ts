/** Wakes readers in this process when something was committed, so that they need not poll the store. */

/** Signals commits. They are counted, so that a commit between a read of the store and the wait is not missed. */
export interface CommitSignal {
  readonly count: number;
  notify(): void;
  /**
   * Resolves at the next commit after `count`, after `ms` milliseconds, when `signal` aborts, or when this is closed. False
   * if the time is over and certainly nothing was committed; true if commits of other processes cannot be checked.
   */
  wait(count: number, ms: number, signal?: AbortSignal): Promise<boolean>;
  /** Checks for commits of other processes; false if that is not possible. */
  checkOthers(): Promise<boolean>;
  /** Sets the function that reads a value which changes with each commit of another process. */
  setOthersSource(readOthersVersion: () => Promise<string>): void;
  /**
   * Adds a listener and returns the function that removes it; undefined when there are `maxListeners` of this kind already, or
   * `maxPerName` with the same name.
   */
  join(maxListeners: number, maxPerName?: number, name?: string, kind?: string): (() => void) | undefined;
  /** Wakes all waiters, when the process stops. */
  close(): void;
  readonly closed: boolean;
}

export function createCommitSignal(): CommitSignal {
  const waiting = new Set<() => void>();
  let count = 0;
  let closed = false;
  let readOthersVersion: (() => Promise<string>) | undefined;
  let othersVersion: string | undefined;
  let pendingCheck: Promise<boolean> | undefined;
  /** Number of checks that were started, and the number of the last one that succeeded. */
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
  /** Runs one check at a time. A caller during a check gets the next one, which sees all commits so far. */
  const checkOthers = async (): Promise<boolean> => {
    await pendingCheck;
    return (pendingCheck ??= checkOthersOnce().finally(() => (pendingCheck = undefined)));
  };
  const checkOthersOnce = async (): Promise<boolean> => {
    if (!readOthersVersion) return false;
    const number = ++checksStarted;
    try {
      const currentVersion = await readOthersVersion();
      // The first check notifies too: commits may have happened before it.
      if (currentVersion !== othersVersion) notify();
      othersVersion = currentVersion;
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
    setOthersSource(readVersion) {
      readOthersVersion = readVersion;
    },
    wait(knownCount, ms, signal) {
      if (closed || count !== knownCount || signal?.aborted) return Promise.resolve(true);
      const before = checksStarted;
      return new Promise((resolve) => {
        const finish = (hasCommitted: boolean): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve(hasCommitted);
        };
        const wake = (): void => finish(true);
        const timeOver = async (): Promise<void> => {
          // A check that started after this wait began, and has ended, need not be repeated.
          const isChecked = lastCompletedCheck > before || (await checkOthers());
          finish(!isChecked || count !== knownCount);
        };
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
