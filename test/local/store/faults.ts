/** Makes calls of the file layer fail, on any file system below it. */
import type { Files } from "../../../local/store/files.ts";

/** Returns the error with which a call fails, or undefined if it is made. */
export type Judge = (call: keyof Files, args: readonly unknown[]) => Error | undefined;

/** Returns an error with the code of a system error. */
export const systemError = (code: string): Error => Object.assign(new Error(`${code}: simulated`), { code });

/** Returns a file layer whose calls fail if `judge` returns an error. */
export function withFaults(files: Files, judge: Judge): Files {
  const wrap = (call: keyof Files): unknown => {
    const made = files[call] as (...args: unknown[]) => unknown;
    return (...args: unknown[]) => {
      const error = judge(call, args);
      if (!error) return made(...args);
      if (call === "readNow" || call === "writeNow" || call === "stat") throw error;
      return Promise.reject(error);
    };
  };
  const calls = (Object.keys(files) as (keyof Files)[]).map((call) => [call, wrap(call)] as const);
  return Object.fromEntries(calls) as unknown as Files;
}

/** Returns a file layer whose syncs can be delayed. */
export function heldSyncs(files: Files): {
  files: Files;
  /** Writes to the journal and syncs, in order. */
  calls: ("write" | "sync")[];
  /** Resolves when a sync is being delayed. */
  syncing(): Promise<void>;
  /** Delays every sync until the returned function is called. */
  hold(): () => void;
} {
  const calls: ("write" | "sync")[] = [];
  let held: Promise<void> | undefined;
  let arrived = (): void => undefined;
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
        arrived();
        await held;
        await files.sync(fd);
      },
    },
    syncing: () => arrival,
    hold() {
      let release = (): void => undefined;
      held = new Promise((resolve) => (release = resolve));
      arrival = new Promise((resolve) => (arrived = resolve));
      return release;
    },
  };
}
