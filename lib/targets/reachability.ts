/** The reason why a system could not be used when it was last asked. */
import type { TargetReports } from "./observed.ts";

/** Stores the reason, and logs a line when it comes and when it goes. */
export function trackReachability(system: string, log: TargetReports["log"]) {
  let problem: string | null = null;
  return {
    /** Returns the reason; null where the last call had an answer, or there was none yet. */
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
