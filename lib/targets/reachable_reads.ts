/** Reads a target system with retries, and records why it cannot be reached. */
import type { TargetReports } from "./observe_system.ts";
import { trackReachability } from "./reachability.ts";
import { type Entry, TargetRejected, type TargetSystem, type TargetValue } from "./port.ts";

/** Creates the reads of a system. Reads of a system on another machine (with `ping`) are repeated after a failure. */
export function createReachableReads(system: TargetSystem, { observer, log }: TargetReports = {}) {
  // Each of the two trackers logs nothing while the other one knows a problem, so a failure of the system is logged once.
  const connection = trackReachability(system.name, log, () => probed.problem() !== null);
  const probed = trackReachability(system.name, log, () => connection.problem() !== null);
  const runRecorded = async <T>(call: () => Promise<T>, isAboutEntry: boolean): Promise<T> => {
    try {
      const answer = await call();
      connection.recordAnswer();
      return answer;
    } catch (error) {
      // A rejected read is about its entry; a rejected ping is about the credentials.
      if (!isAboutEntry || !(error instanceof TargetRejected))
        connection.recordFailure(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  const onRetry = (): void => observer?.retried(system.name);
  return {
    read(entry: Entry, signal: AbortSignal): Promise<TargetValue> {
      const readOnce = (): Promise<TargetValue> => system.read(entry, signal);
      return runRecorded(() => (system.ping ? runWithRetries(readOnce, signal, onRetry) : readOnce()), true);
    },

    /** Calls a remote system, to notice whether it can be reached. Never rejects: `findProblem` returns the problem. */
    async ping(signal: AbortSignal): Promise<void> {
      if (system.ping) await runRecorded(async () => system.ping!(signal), false).catch(() => undefined);
    },

    /** Explains why the system cannot be written now, without calling another machine; null if no problem is known. */
    async findProblem(): Promise<string | null> {
      try {
        await system.probe?.();
        probed.recordAnswer();
      } catch (error) {
        probed.recordFailure(error instanceof Error ? error.message : String(error));
      }
      return probed.problem() ?? connection.problem();
    },
  };
}

/** Repeats a failed call after 0.1 and 0.4 s, each ±50 %, so that many processes do not retry together. */
async function runWithRetries<T>(call: () => Promise<T>, signal: AbortSignal, onRetry: () => void): Promise<T> {
  for (const pause of [100, 400]) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof TargetRejected || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
      onRetry();
    }
  }
  return call();
}
