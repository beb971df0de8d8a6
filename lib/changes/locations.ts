/** The locations of a change: recorded by its proposal, and compared with the configuration before anything is set there. */
import { AppError } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Reads, Tx } from "../store/store.ts";
import { NoTargetSystem, type ProductAdapter } from "./operations/adapter_port.ts";
import type { Change, TargetLocation } from "./rules/change.ts";
import type { Content } from "./rules/content.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import type { RestrictedReader } from "./rules/reader.ts";
import { isSameTarget } from "./rules/target_key.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `<SHA-256 of a place>` */
    places: LocationOwner;
  }
}

/** The first tenant and target for which a location was set. */
export type LocationOwner = Pick<TargetLocation, "tenant_id" | "target">;

type ProposedChange = ChangeEntry & Pick<Content, "kind">;

/** Lists the locations of the values that a change sets; undefined if it sets none. Errors: 400 `no_target_system`. */
export function listLocations(
  adapter: ProductAdapter | undefined,
  change: ProposedChange,
): TargetLocation[] | undefined {
  if (!adapter) return undefined;
  const locations = listEntries(change).flatMap(({ tenant_id, target, value }) => {
    const location = locate(adapter, { tenant_id, target, value, kind: change.kind });
    const isSet = value !== undefined && location !== undefined;
    return isSet ? [{ tenant_id, target, ...location }] : [];
  });
  return locations.length === 0 ? undefined : locations;
}

/** Locates an entry; undefined if it is only recorded and set on no system. Errors: 400 `no_target_system`. */
function locate(
  adapter: ProductAdapter,
  entry: Parameters<NonNullable<ProductAdapter["locate"]>>[0],
): Pick<TargetLocation, "system" | "place"> | undefined {
  try {
    if (adapter.carries?.(entry) === false) return undefined;
    return adapter.locate?.(entry) ?? { system: adapter.name, place: adapter.name };
  } catch (error) {
    if (error instanceof NoTargetSystem) throw new AppError("no_target_system", error.message);
    throw error;
  }
}

/** Returns the adapter if it carries the change or an entry of it; undefined if the change is only recorded. */
export function findCarrier(adapter: ProductAdapter | undefined, change: ProposedChange): ProductAdapter | undefined {
  const { kind } = change;
  try {
    return listEntries(change).every((entry) => adapter?.carries?.({ ...entry, kind }) === false) ? undefined : adapter;
  } catch (error) {
    // No system covers the target any more; the operation reports that.
    if (error instanceof NoTargetSystem) return adapter;
    throw error;
  }
}

/** The recorded locations, and the locations by the current configuration. */
export interface MovedLocations {
  recorded: readonly TargetLocation[];
  now: readonly TargetLocation[];
}

/** Compares the recorded locations with the current configuration; undefined if equal. `spelled`: the targets as they are spelled now. */
export function findMove(
  adapter: ProductAdapter | undefined,
  change: Change,
  spelled: Pick<Change, "target" | "sets"> = change,
): MovedLocations | undefined {
  const { places: recorded = [] } = change;
  let now: readonly TargetLocation[] = [];
  try {
    now = listLocations(adapter, { ...change, ...spelled }) ?? [];
  } catch (error) {
    // No system covers the target any more, so there is no location now.
    if (!(error instanceof AppError)) throw error;
  }
  const isSame =
    recorded.length === now.length && recorded.every(({ place: location }, index) => location === now[index]!.place);
  return isSame ? undefined : { recorded, now };
}

/** As `findMove`, of several operands. */
export function findMoves(
  adapter: ProductAdapter | undefined,
  operands: readonly Change[],
): MovedLocations | undefined {
  const moves = operands.flatMap((operand) => findMove(adapter, operand) ?? []);
  if (moves.length === 0) return undefined;
  return { recorded: moves.flatMap(({ recorded }) => recorded), now: moves.flatMap(({ now }) => now) };
}

/** Describes where a change would be set now, and where according to its proposal. */
export function describeMove({ recorded, now }: MovedLocations): string {
  const formatLocations = (locations: readonly TargetLocation[]): string =>
    locations
      .map(({ system, place: location }) => (location === system ? location : `${location} (${system})`))
      .join(", ") || "nowhere";
  const [currently, formerly] = [formatLocations(now), formatLocations(recorded)];
  const difference = currently.toLowerCase() === formerly.toLowerCase() ? "; only the spelling differs" : "";
  return `by the configuration it is set at ${currently}, and by its proposal at ${formerly}${difference}`;
}

/** Returns true for a location of one target; many targets may share a location that is only the name of its system. */
const canHaveOwner = ({ system, place: location }: TargetLocation): boolean => location !== system;

/**
 * Requires that locations belong to no other tenant or target, also within one plan. Errors: 409 `target_conflict`, which names
 * the owner unless the caller may read only some changes.
 */
export async function requireFreeLocations(
  reads: Pick<Reads, "get">,
  locations: readonly TargetLocation[] | undefined,
  sha256: Sha256,
  reader?: RestrictedReader,
): Promise<void> {
  const ownable = locations?.filter(canHaveOwner) ?? [];
  for (const location of ownable) {
    const first = ownable.find((other) => other.place === location.place);
    const owner = first !== location ? first : (await reads.get("places", sha256(location.place)))?.value;
    if (!owner || isSameTarget(owner, location)) continue;
    const ownerText = reader ? "another target" : `${owner.target} of tenant ${owner.tenant_id}`;
    throw new AppError(
      "target_conflict",
      `${location.place} belongs to ${ownerText}; give ${location.target} of ${location.tenant_id} another place in the configuration of the target systems`,
    );
  }
}

/** Claims the locations of a change for its tenant and target. Errors: as `requireFreeLocations`. */
export async function claimLocations(tx: Tx, { places: locations = [] }: Change, sha256: Sha256): Promise<void> {
  await requireFreeLocations(tx, locations, sha256);
  for (const { tenant_id, target, place: location } of locations.filter(canHaveOwner)) {
    const key = sha256(location);
    if (!(await tx.get("places", key))) tx.put("places", key, { tenant_id, target });
  }
}
