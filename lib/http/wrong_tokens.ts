/** Counts, logs and delays requests with wrong tokens, so that guessing is slow and noticed. */
import type { HttpDeps } from "./deps.ts";
import { logAtIntervals } from "./log_at_intervals.ts";
import { requestPath } from "./path.ts";

const DELAY_MS = 250;

/** Counts a request with a wrong token, and resolves when it may be answered. */
export async function delayAnswer(deps: HttpDeps, request: Request): Promise<void> {
  deps.onWrongToken?.();
  logAtIntervals(deps, "a token was sent that is nobody's", { path: requestPath(request) });
  await (deps.pause ?? timer)(DELAY_MS);
}

const timer = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
