/** Tokens that are nobody's: counted, logged once a second at most, and answered late, so that guessing is slow and seen. */
import type { HttpDeps } from "./deps.ts";
import { logAtIntervals } from "./log_at_intervals.ts";
import { requestPath } from "./path.ts";

const LATE_MS = 250;

/** Counts a request with a wrong token, and resolves when it may be answered. Others are not kept waiting. */
export async function delayAnswer(deps: HttpDeps, request: Request): Promise<void> {
  deps.wrongToken?.();
  logAtIntervals(deps, "a token was sent that is nobody's", { path: requestPath(request) });
  await (deps.pause ?? timer)(LATE_MS);
}

const timer = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
