/**
 * Engines that keep the last revision of each deleted record have none of those that were deleted before they were loaded:
 * for these there is one deletion of no id in each collection, and whatever is not there begins above it.
 */
import { type Awaitable, mapAwaitable, type View } from "./view.ts";
import type { Key, Version } from "../version.ts";

type FoundVersions = readonly (Version | undefined)[];

/** The versions that a view finds, with the floors of their collections. */
export function versionsOverFloors(view: Pick<View, "versions">, keys: readonly Key[]): Awaitable<FoundVersions> {
  const names = [...new Set(keys.map(({ collection }) => collection))];
  const floorKeys = names.map((collection) => ({ collection, id: "" }));
  return mapAwaitable(view.versions([...keys, ...floorKeys]), (found) => {
    const floors = new Map(names.map((name, index) => [name, found[keys.length + index]?.revision ?? 0]));
    return keys.map((key, index) => applyFloor(key, found[index], floors.get(key.collection)!));
  });
}

/** A version, or what is left of a record that is not there. */
export const applyFloor = (
  { collection, id }: Key,
  version: Version | undefined,
  floor: number,
): Version | undefined =>
  version?.json || floor === 0
    ? version
    : { collection, id, revision: Math.max(version?.revision ?? 0, floor), json: undefined };
