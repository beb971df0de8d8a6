/** Reads the current values of targets, for people who decide and for the apply after their decision. */
import type { Clock, Sha256 } from "../kit/platform.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import type { ProductAdapter, Reading } from "./operations/adapter_port.ts";
import { findCarrier, findMove, listLocations } from "./locations.ts";
import type { Change } from "./rules/change.ts";
import type { Content } from "./rules/content.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import { type TargetKey, isSameTarget } from "./rules/target_key.ts";
import { digestObservedValue, type ObservedValue } from "./rules/moved_value.ts";

interface ReadingDeps {
  product?: { adapter?: ProductAdapter | undefined } | undefined;
  clock: Clock;
  sha256: Sha256;
}

type ProposedChange = ChangeEntry & Pick<Content, "kind"> & { stages?: Content["stages"] };

/** Time for which a reading is reused. */
const FRESH_MS = 5000;
const MAX_READINGS = 1000;

/** The current value of a target; `problem` explains why the value of the change cannot be set there. */
interface ExaminedTarget {
  target: string;
  observed: ObservedValue;
  problem: string | undefined;
}
type Readings = Map<string, TargetKey & { at: number; reading: Promise<ExaminedTarget> }>;

/** The newest readings of each adapter, by location, target and value. */
const readingsByAdapter = new WeakMap<ProductAdapter, Readings>();

/** Lists the targets of the newest readings, newest first. */
export const listRecentlyRead = (adapter: ProductAdapter, limit: number): TargetKey[] =>
  [...(readingsByAdapter.get(adapter)?.values() ?? [])]
    .slice(-limit)
    .reverse()
    .map(({ tenant_id, target }) => ({ tenant_id, target }));

/** Makes the readings of a written target too old to be reused. */
export function expireReadings(adapter: ProductAdapter, written: TargetKey): void {
  for (const reading of readingsByAdapter.get(adapter)?.values() ?? [])
    if (isSameTarget(reading, written)) reading.at = -Infinity;
}

/** Lists the readers of the locations of a change; empty if the system cannot be read. */
function listReaders(adapter: ProductAdapter | undefined, change: ProposedChange | Change) {
  if (!adapter?.reader || !findCarrier(adapter, change)) return [];
  // A consent is about the recorded locations; the value at another location says nothing about them.
  if ("change_id" in change && findMove(adapter, change)) return [];
  const locations = listLocations(adapter, change) ?? [];
  return listEntries(change).flatMap(({ tenant_id, target, value }) => {
    const { kind, stages } = change;
    // An entry that no target system carries has no location.
    const location = locations.find((candidate) => isSameTarget(candidate, { tenant_id, target }));
    const read = location && adapter.reader!({ tenant_id, target, value, kind, stages });
    return read ? [{ place: location.place, tenant_id, target, value, read }] : [];
  });
}

/** Counts the readable locations of a change; a consent may name one digest for each. */
export const countReadableTargets = (adapter: ProductAdapter | undefined, change: ProposedChange | Change): number =>
  listReaders(adapter, change).length;

/** Reads the current values at the locations of a change; undefined if none can be read. `isFresh` ignores recent readings. */
export const observeTargets = async (
  deps: ReadingDeps,
  change: ProposedChange | Change,
  isFresh = false,
): Promise<ObservedValue[] | undefined> =>
  (await examineTargets(deps, change, isFresh))?.map(({ observed }) => observed);

/** Reads the locations of a change, and judges its values by the current ones. */
export async function examineTargets(
  deps: ReadingDeps,
  change: ProposedChange | Change,
  isFresh = false,
): Promise<ExaminedTarget[] | undefined> {
  const { product, clock, sha256 } = deps;
  const adapter = product?.adapter;
  const readers = listReaders(adapter, change);
  if (!adapter || readers.length === 0) return undefined;
  const cache: Readings = readingsByAdapter.get(adapter) ?? new Map();
  readingsByAdapter.set(adapter, cache);
  const now = clock.now();
  return Promise.all(
    readers.map(({ place: location, tenant_id, target, value, read }) => {
      // The value is part of the key, since a system may report its current value in relation to it.
      const key = JSON.stringify([location, tenant_id, target, digestObservedValue({ value }, sha256)]);
      const last = cache.get(key);
      // A reading from the future was made before the clock was set back.
      if (last && !isFresh && now >= last.at && now - last.at < FRESH_MS) return last.reading;
      const at = new Date(now).toISOString();
      const reading = runWithTimeLimit(read).then((current) => ({
        target,
        observed: toObservedValue(current, { place: location, at, sha256 }),
        problem: current.problem,
      }));
      // Deleted first, so that the newest reading is the last one of the map.
      cache.delete(key);
      cache.set(key, { tenant_id, target, at: now, reading });
      if (cache.size > MAX_READINGS) cache.delete(cache.keys().next().value!);
      reading.catch(() => cache.delete(key));
      return reading;
    }),
  );
}

/** Converts a reading to the form that a consent records: the digest replaces the value. */
export const toObservedValue = (
  reading: Reading,
  { place: location, at, sha256 }: { place: string; at: string; sha256: Sha256 },
): ObservedValue => ({
  place: location,
  digest: digestObservedValue(reading, sha256),
  version: reading.version,
  at,
});
