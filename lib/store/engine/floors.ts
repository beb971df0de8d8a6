/**
 * Revision floors. A store that was loaded from a copy does not know the last revision of each record that was deleted before
 * the copy. So each collection has one floor, a tombstone with the id `""`: a new record gets a revision above it.
 */
import { type Awaitable, mapAwaitable, type View } from "./view.ts";
import type { Key, Version } from "../version.ts";

type FoundVersions = readonly (Version | undefined)[];

/** Reads versions; a missing record gets the floor of its collection. */
export function readVersionsWithFloors(view: Pick<View, "versions">, keys: readonly Key[]): Awaitable<FoundVersions> {
  const names = [...new Set(keys.map(({ collection }) => collection))];
  const floorKeys = names.map((collection) => ({ collection, id: "" }));
  return mapAwaitable(view.versions([...keys, ...floorKeys]), (found) => {
    const floors = new Map(names.map((name, index) => [name, found[keys.length + index]?.revision ?? 0]));
    return keys.map((key, index) => applyFloor(key, found[index], floors.get(key.collection)!));
  });
}

/** Returns the version, or for a missing record a tombstone whose revision is at least the floor. */
export const applyFloor = (
  { collection, id }: Key,
  version: Version | undefined,
  floor: number,
): Version | undefined =>
  version?.json || floor === 0
    ? version
    : { collection, id, revision: Math.max(version?.revision ?? 0, floor), json: undefined };
