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
    clockSamples?: readonly ClockSample[];
  }
}

/** A reading of the clock. */
export interface ClockSample {
  /** Time of the sample, in milliseconds. */
  at: number;
  /** Time of the sample by the monotonic clock, in milliseconds; `at` on a host without one. */
  elapsed: number;
}

const MIN_SAMPLE_DISTANCE_MS = 10 * 60_000;
/** Looks that are closer than this are not all kept. */
const SAMPLE_INTERVAL_MS = 60_000;

/** The moment that has certainly passed, by the looks that were kept and one more; `-Infinity`: none. */
export function computeCertainTime(samples: readonly ClockSample[], sample: ClockSample): number {
  const since = findFirstCounted(samples, sample);
  return since === -1 ? -Infinity : Math.min(sample.at, ...samples.slice(since).map(({ at }) => at));
}

/**
 * The looks to keep after one more; the same list where it adds nothing. The first look that sees a moment passed is always
 * kept, so that the moment has certainly passed ten minutes later.
 */
export function addClockSample(
  samples: readonly ClockSample[],
  sample: ClockSample,
  moment = Infinity,
): readonly ClockSample[] {
  // A clock that was set back drops its samples of times that are future now.
  const past = samples.filter(({ elapsed }) => elapsed <= sample.elapsed);
  const last = past.at(-1);
  const isFirst = last && last.at < moment && sample.at >= moment;
  if (past.length === samples.length && last && !isFirst && sample.elapsed - last.elapsed < SAMPLE_INTERVAL_MS)
    return samples;
  return [...past.slice(Math.max(0, findFirstCounted(past, sample))), sample];
}

/** Returns the index of the newest sample that is old enough; earlier ones add nothing. */
const findFirstCounted = (samples: readonly ClockSample[], sample: ClockSample): number =>
  samples.findLastIndex(({ elapsed }) => sample.elapsed - elapsed >= MIN_SAMPLE_DISTANCE_MS);

type ClockDeps = Pick<ChangesDeps, "clock" | "integrity" | "store">;

function takeSample({ clock }: ClockDeps): ClockSample {
  const at = clock.now();
  return { at, elapsed: clock.monotonic?.() ?? at };
}

/**
 * The moment that has certainly passed; `-Infinity` while it cannot be said of any. `moment`: one whose first look is kept.
 */
export async function readCertainTime(
  deps: ClockDeps,
  reads: Pick<Reads, "get"> = deps.store,
  moment?: number,
): Promise<number> {
  const sample = takeSample(deps);
  if (!deps.clock.monotonic)
    return computeCertainTime((await reads.get("meta", "clock"))?.value.sightings ?? [], sample);
  const { clockSamples: sightings = [] } = deps.integrity;
  deps.integrity.clockSamples = addClockSample(sightings, sample, moment);
  return computeCertainTime(sightings, sample);
}

/** Milliseconds until a look shows that a moment which has passed by the clock has certainly passed. */
export function computeMsUntilCertain(deps: ClockDeps, moment: number): number {
  const sample = takeSample(deps);
  const samples = deps.integrity.clockSamples ?? [];
  const first = samples[samples.findLastIndex(({ at }) => at < moment) + 1];
  return first ? Math.max(0, first.elapsed + MIN_SAMPLE_DISTANCE_MS - sample.elapsed) : MIN_SAMPLE_DISTANCE_MS;
}

/** Looks at the clock, as each cycle does. */
export async function sampleClock(deps: ClockDeps): Promise<void> {
  if (deps.clock.monotonic) return void (await readCertainTime(deps));
  const sample = takeSample(deps);
  const samples = (await deps.store.get("meta", "clock"))?.value.sightings ?? [];
  if (addClockSample(samples, sample) === samples) return;
  await deps.store.transact(async (tx) => {
    const sightings = (await tx.get("meta", "clock"))?.value.sightings ?? [];
    tx.put("meta", "clock", { sightings: addClockSample(sightings, sample) });
  });
}
