/** Tokens that are nobody's: counted, told once a second at most, and answered late, so that guessing is slow and seen. */
import type { HttpDeps } from "./deps.ts";
import { pathOf } from "./path.ts";

const LATE_MS = 250;
const TOLD_EVERY_MS = 1000;

/** When it was last told, and how many there were since. */
const memory = new WeakMap<HttpDeps, { told: number; since: number }>();

/** Counts a request with a wrong token, and resolves when it may be answered. Others are not kept waiting. */
export async function holdBack(deps: HttpDeps, request: Request): Promise<void> {
  const { clock, log, wrongToken, pause = timer } = deps;
  wrongToken?.();
  const now = clock.now();
  const { told, since } = memory.get(deps) ?? { told: -Infinity, since: 0 };
  const due = Math.abs(now - told) >= TOLD_EVERY_MS;
  if (due) log.warn("a token was sent that is nobody's", { path: pathOf(request), requests: since + 1 });
  memory.set(deps, due ? { told: now, since: 0 } : { told, since: since + 1 });
  await pause(LATE_MS);
}

const timer = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
