/** Wraps the file layer so that its calls fail or are delayed. */
import type { Files } from "../../../local/store/files.ts";

/** Returns the error with which a call fails, or undefined if the call goes through. */
export type FindFault = (call: keyof Files, args: readonly unknown[]) => Error | undefined;

/** Returns an error with the code of a system error. */
export const systemError = (code: string): Error => Object.assign(new Error(`${code}: simulated`), { code });

/** Returns a file layer whose calls fail if `findError` returns an error. */
export function withFaults(files: Files, findError: FindFault): Files {
  const wrap = (call: keyof Files): unknown => {
    const realCall = files[call] as (...args: unknown[]) => unknown;
    return (...args: unknown[]) => {
      const error = findError(call, args);
      if (!error) return realCall(...args);
      // These calls are synchronous; all others return promises.
      if (call === "readNow" || call === "writeNow" || call === "stat") throw error;
      return Promise.reject(error);
    };
  };
  const calls = (Object.keys(files) as (keyof Files)[]).map((call) => [call, wrap(call)] as const);
  return Object.fromEntries(calls) as unknown as Files;
}

/** Returns a file layer whose syncs can be delayed. */
export function delayableSyncs(files: Files): {
  files: Files;
  /** The writes and syncs so far, in order. */
  calls: ("write" | "sync")[];
  /** Resolves when a sync is being delayed. */
  whenDelayed(): Promise<void>;
  /** Delays every sync until the returned function is called. */
  delay(): () => void;
} {
  const calls: ("write" | "sync")[] = [];
  let delayed: Promise<void> | undefined;
  let resolveArrival = (): void => undefined;
  let arrival = Promise.resolve();
  return {
    calls,
    files: {
      ...files,
      writeNow(...args) {
        calls.push("write");
        return files.writeNow(...args);
      },
      async sync(fd) {
        calls.push("sync");
        resolveArrival();
        await delayed;
        await files.sync(fd);
      },
    },
    whenDelayed: () => arrival,
    delay() {
      let release = (): void => undefined;
      delayed = new Promise((resolve) => (release = resolve));
      arrival = new Promise((resolve) => (resolveArrival = resolve));
      return release;
    },
  };
}
