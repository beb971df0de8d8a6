/** Logs warnings that one fault can cause thousands of times: once a second at most, with their number. */
import type { HttpDeps } from "./deps.ts";

const LOG_INTERVAL_MS = 1000;

type Deps = Pick<HttpDeps, "clock" | "log">;

/** For each service and message: the time of the last line (`at`), and the number of requests since. */
const logged = new WeakMap<Deps, Map<string, { at: number; since: number }>>();

/** Logs a warning, with the number of requests since the last line. */
export function logAtIntervals(deps: Deps, message: string, fields: Record<string, unknown>): void {
  const now = deps.clock.now();
  const messages = logged.get(deps) ?? new Map<string, { at: number; since: number }>();
  logged.set(deps, messages);
  const { at, since } = messages.get(message) ?? { at: -Infinity, since: 0 };
  // A clock that was set back must not silence the warning.
  const isDue = Math.abs(now - at) >= LOG_INTERVAL_MS;
  if (isDue) deps.log.warn(message, { ...fields, requests: since + 1 });
  messages.set(message, isDue ? { at: now, since: 0 } : { at, since: since + 1 });
}
