/** Logs rejected connections of the link. */
import type { Clock, Log } from "../../lib/kit/platform.ts";

const MIN_INTERVAL_MS = 10_000;

/** Creates a log of rejected connections with at most one line in 10 s, which counts the others. */
export function createRejectionLog(log: Log, clock: Clock): (from: string, reason: string) => void {
  let lastAt = -Infinity;
  let suppressed = 0;
  return (from, reason) => {
    const now = clock.now();
    // A clock that was set back does not prolong the interval.
    if (Math.abs(now - lastAt) < MIN_INTERVAL_MS) {
      suppressed++;
      return;
    }
    log.warn("link connection refused", {
      from,
      reason,
      ...(suppressed > 0 ? { more_since_last_line: suppressed } : {}),
    });
    lastAt = now;
    suppressed = 0;
  };
}
