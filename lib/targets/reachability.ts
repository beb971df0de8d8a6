/** The reason why the last call of a system failed. */
import type { TargetReports } from "./observed.ts";

/** Tracks the reason, and logs a line when a system fails and when it can be used again. */
export function trackReachability(system: string, log: TargetReports["log"]) {
  let problem: string | null = null;
  return {
    /** Returns the reason; null after a successful call, and before the first call. */
    problem: (): string | null => problem,
    recordAnswer(): void {
      if (problem !== null) log?.info("a target system can be used again", { system });
      problem = null;
    },
    recordFailure(reason: string): void {
      if (problem === null) log?.warn("a target system cannot be used", { system, error: reason });
      problem = reason;
    },
  };
}
