/**
 * The confirmed time. A clock may be wrong for a while, so a change must not end because of a single clock reading: a moment is
 * confirmed to have passed when two clock samples, at least ten minutes apart, and all samples between them are after it.
 */
import type { Reads } from "../store/store.ts";
import type { ChangesDeps } from "./deps.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** Clock samples of scheduled cycles, on hosts without a long-lived process. */
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
/** Minimum distance between stored samples. */
const SAMPLE_INTERVAL_MS = 60_000;

/** Computes the latest moment that is confirmed to have passed, from stored samples and a new one; `-Infinity` if there is none. */
export function computeConfirmedTime(samples: readonly ClockSample[], sample: ClockSample): number {
  const since = findFirstCounted(samples, sample);
  return since === -1 ? -Infinity : Math.min(sample.at, ...samples.slice(since).map(({ at }) => at));
}

/**
 * Returns the samples to store after a new one; the same list if nothing changes. The first sample after `moment` is always stored,
 * so that the moment is confirmed ten minutes later.
 */
export function addClockSample(
  samples: readonly ClockSample[],
  sample: ClockSample,
  moment = Infinity,
): readonly ClockSample[] {
  // If the clock was set back, samples of times that are now in the future are dropped.
  const past = samples.filter(({ elapsed }) => elapsed <= sample.elapsed);
  const last = past.at(-1);
  const isFirst = last && last.at < moment && sample.at >= moment;
  // Nothing changes if no sample is dropped and the last one is recent, unless this is the first after `moment`.
  if (past.length === samples.length && last && !isFirst && sample.elapsed - last.elapsed < SAMPLE_INTERVAL_MS)
    return samples;
  return [...past.slice(Math.max(0, findFirstCounted(past, sample))), sample];
}

/** Returns the index of the newest sample that is at least ten minutes old, or -1; no earlier sample is needed. */
const findFirstCounted = (samples: readonly ClockSample[], sample: ClockSample): number =>
  samples.findLastIndex(({ elapsed }) => sample.elapsed - elapsed >= MIN_SAMPLE_DISTANCE_MS);

type ClockDeps = Pick<ChangesDeps, "clock" | "integrity" | "store">;

function takeSample({ clock }: ClockDeps): ClockSample {
  const at = clock.now();
  return { at, elapsed: clock.monotonic?.() ?? at };
}

/**
 * Takes a clock sample and returns the latest moment that is confirmed to have passed; `-Infinity` if there is none yet. `moment`:
 * the first sample after this time is stored.
 */
export async function readConfirmedTime(
  deps: ClockDeps,
  reads: Pick<Reads, "get"> = deps.store,
  moment?: number,
): Promise<number> {
  const sample = takeSample(deps);
  if (!deps.clock.monotonic)
    return computeConfirmedTime((await reads.get("meta", "clock"))?.value.sightings ?? [], sample);
  const { clockSamples: samples = [] } = deps.integrity;
  deps.integrity.clockSamples = addClockSample(samples, sample, moment);
  return computeConfirmedTime(samples, sample);
}

/** Computes the milliseconds until a moment that has passed by the clock is confirmed. */
export function computeMsUntilConfirmed(deps: ClockDeps, moment: number): number {
  const sample = takeSample(deps);
  const samples = deps.integrity.clockSamples ?? [];
  // Counted from the first sample after the last one that is before the moment.
  const first = samples[samples.findLastIndex(({ at }) => at < moment) + 1];
  return first ? Math.max(0, first.elapsed + MIN_SAMPLE_DISTANCE_MS - sample.elapsed) : MIN_SAMPLE_DISTANCE_MS;
}

/** Takes and stores a clock sample; called in each cycle. */
export async function sampleClock(deps: ClockDeps): Promise<void> {
  if (deps.clock.monotonic) return void (await readConfirmedTime(deps));
  const sample = takeSample(deps);
  const samples = (await deps.store.get("meta", "clock"))?.value.sightings ?? [];
  if (addClockSample(samples, sample) === samples) return;
  await deps.store.transact(async (tx) => {
    const sightings = (await tx.get("meta", "clock"))?.value.sightings ?? [];
    tx.put("meta", "clock", { sightings: addClockSample(sightings, sample) });
  });
}
