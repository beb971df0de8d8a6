/** Requests refused because the store cannot be used: logged once a second at most, for a fault refuses thousands of them. */
import type { StoreUnavailable } from "../store/store.ts";
import type { HttpDeps } from "./deps.ts";

const LOG_EVERY_MS = 1000;

type Deps = Pick<HttpDeps, "clock" | "log">;

/** Per service: when one was logged last, and how many followed. */
const logged = new WeakMap<Deps, { at: number; since: number }>();

/** Logs a refused request, with how many were refused since the last line. */
export function logUnavailable(
  deps: Deps,
  error: StoreUnavailable,
  fields: { request_id: string; path: string },
): void {
  const now = deps.clock.now();
  const { at, since } = logged.get(deps) ?? { at: -Infinity, since: 0 };
  const isDue = Math.abs(now - at) >= LOG_EVERY_MS;
  if (isDue) deps.log.warn("request refused", { ...fields, error: error.message, requests: since + 1 });
  logged.set(deps, isDue ? { at: now, since: 0 } : { at, since: since + 1 });
}
