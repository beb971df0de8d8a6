/** Reads of a target system, and the reason why it could not be reached when it was last asked. */
import type { TargetReports } from "./observed.ts";
import { reachability } from "./reachability.ts";
import { type Entry, TargetRejected, type TargetSystem, type TargetValue } from "./port.ts";

/** Another machine is asked again when it does not answer: a read changes nothing. */
export function reachableReads(system: TargetSystem, { observer, log }: TargetReports = {}) {
  const connection = reachability(system.name, log);
  const noting = async <T>(ask: () => Promise<T>, isAboutEntry: boolean): Promise<T> => {
    try {
      const answer = await ask();
      connection.answered();
      return answer;
    } catch (error) {
      // A rejected read is about its entry; a rejected ping is about the credentials.
      if (!isAboutEntry || !(error instanceof TargetRejected))
        connection.failed(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  const onRetry = (): void => observer?.retried(system.name);
  return {
    read: (entry: Entry, signal: AbortSignal): Promise<TargetValue> =>
      noting(
        () => (system.ping ? retried(() => system.read(entry, signal), signal, onRetry) : system.read(entry, signal)),
        true,
      ),

    async ping(signal: AbortSignal): Promise<void> {
      await noting(async () => system.ping?.(signal), false).catch(() => undefined);
    },

    /** Explains why the system cannot be written now, as far as is known without asking another machine. */
    async findProblem(): Promise<string | null> {
      try {
        await system.probe?.();
        return connection.problem();
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  };
}

/** Asks again after 0.1 and 0.4 s, give or take half, so that many processes do not ask at once. */
async function retried<T>(ask: () => Promise<T>, signal: AbortSignal, onRetry: () => void): Promise<T> {
  for (const pause of [100, 400]) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof TargetRejected || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
      onRetry();
    }
  }
  return ask();
}
