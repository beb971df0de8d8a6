/**
 * The time that is certain. A clock may be wrong for one start, and put right again: what ends a change for good must not
 * rest on one look at it. So a moment has certainly passed when two looks, at least ten minutes apart, both saw it passed.
 */
import type { Reads } from "../store/store.ts";
import type { ChangesDeps } from "./deps.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** Clock samples of scheduled cycles, where no process lives for long. */
    clock: { sightings: readonly ClockSample[] };
  }
}
declare module "../audit/integrity.ts" {
  interface Integrity {
    /** Clock samples of this process. */
    sightings?: readonly ClockSample[];
  }
}

/** A reading of the clock. */
export interface ClockSample {
  /** Time of the sample, in milliseconds. */
  at: number;
  /** Time of the sample by the monotonic clock, in milliseconds; `at` on a host without one. */
  elapsed: number;
}

const APART_MS = 10 * 60_000;
/** Looks that are closer than this are not all kept. */
const KEPT_MS = 60_000;

/** The moment that has certainly passed, by the looks that were kept and one more; `-Infinity`: none. */
export function certainly(kept: readonly ClockSample[], look: ClockSample): number {
  const since = firstThatCounts(kept, look);
  return since === -1 ? -Infinity : Math.min(look.at, ...kept.slice(since).map(({ at }) => at));
}

/**
 * The looks to keep after one more; the same list where it adds nothing. The first look that sees a moment passed is always
 * kept, so that the moment has certainly passed ten minutes later.
 */
export function addClockSample(
  kept: readonly ClockSample[],
  look: ClockSample,
  moment = Infinity,
): readonly ClockSample[] {
  // A clock that was set back drops its samples of times that are future now.
  const past = kept.filter(({ elapsed }) => elapsed <= look.elapsed);
  const last = past.at(-1);
  const isFirst = last && last.at < moment && look.at >= moment;
  if (past.length === kept.length && last && !isFirst && look.elapsed - last.elapsed < KEPT_MS) return kept;
  return [...past.slice(Math.max(0, firstThatCounts(past, look))), look];
}

/** Returns the index of the newest sample that is old enough; earlier ones add nothing. */
const firstThatCounts = (kept: readonly ClockSample[], look: ClockSample): number =>
  kept.findLastIndex(({ elapsed }) => look.elapsed - elapsed >= APART_MS);

type Looking = Pick<ChangesDeps, "clock" | "integrity" | "store">;

function lookAt({ clock }: Looking): ClockSample {
  const at = clock.now();
  return { at, elapsed: clock.monotonic?.() ?? at };
}

/**
 * The moment that has certainly passed; `-Infinity` while it cannot be said of any. `moment`: one whose first look is kept.
 */
export async function certainNow(
  deps: Looking,
  reads: Pick<Reads, "get"> = deps.store,
  moment?: number,
): Promise<number> {
  const look = lookAt(deps);
  if (!deps.clock.monotonic) return certainly((await reads.get("meta", "clock"))?.value.sightings ?? [], look);
  const { sightings = [] } = deps.integrity;
  deps.integrity.sightings = addClockSample(sightings, look, moment);
  return certainly(sightings, look);
}

/** Milliseconds until a look shows that a moment which has passed by the clock has certainly passed. */
export function msUntilCertain(deps: Looking, moment: number): number {
  const look = lookAt(deps);
  const looks = deps.integrity.sightings ?? [];
  const first = looks[looks.findLastIndex(({ at }) => at < moment) + 1];
  return first ? Math.max(0, first.elapsed + APART_MS - look.elapsed) : APART_MS;
}

/** Looks at the clock, as each cycle does. */
export async function sampleClock(deps: Looking): Promise<void> {
  if (deps.clock.monotonic) return void (await certainNow(deps));
  const look = lookAt(deps);
  const kept = (await deps.store.get("meta", "clock"))?.value.sightings ?? [];
  if (addClockSample(kept, look) === kept) return;
  await deps.store.transact(async (tx) => {
    const sightings = (await tx.get("meta", "clock"))?.value.sightings ?? [];
    tx.put("meta", "clock", { sightings: addClockSample(sightings, look) });
  });
}
