/** Tracks why a system cannot be reached. */
import type { TargetReports } from "./observe_system.ts";

/**
 * Remembers why the last call of a system failed, and logs when the system fails and when it can be used again. While
 * `failsOtherwise` returns true it logs nothing: another tracker of the system has logged the failure.
 */
export function trackReachability(system: string, log: TargetReports["log"], failsOtherwise = () => false) {
  let problem: string | null = null;
  return {
    /** Returns the reason; null after a successful call, and before the first call. */
    problem: (): string | null => problem,
    recordAnswer(): void {
      if (problem !== null && !failsOtherwise()) log?.info("a target system can be used again", { system });
      problem = null;
    },
    recordFailure(reason: string): void {
      if (problem === null && !failsOtherwise()) log?.warn("a target system cannot be used", { system, error: reason });
      problem = reason;
    },
  };
}
