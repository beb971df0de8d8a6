import type { Clock, Log } from "../../lib/kit/platform.ts";

const QUIET_MS = 10_000;

/** Logs refused connections, one line in 10 s at most, so that a flood of them does not become a flood of lines. */
export function refusalLog(log: Log, clock: Clock): (from: string, reason: string) => void {
  let lastAt = -Infinity;
  let unsaid = 0;
  return (from, reason) => {
    const now = clock.now();
    if (now - lastAt < QUIET_MS) {
      unsaid++;
      return;
    }
    log.warn("link connection refused", { from, reason, ...(unsaid > 0 ? { more_since_last_line: unsaid } : {}) });
    lastAt = now;
    unsaid = 0;
  };
}
