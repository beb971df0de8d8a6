/** Earlier changes of the targets of a change, and the values that it replaced. */
import { listEntries } from "../../../lib/changes/rules/list_entries.ts";
import { isSameTarget } from "../../../lib/changes/rules/target_key.ts";
import type { Change, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { type Resource, useResource } from "../core/resource.tsx";

type TargetKey = Pick<Change, "tenant_id" | "target">;

/** Reads the changes that set a target of this change, itself included, among the newest 200 of each tenant. */
async function readHistory(change: Change, signal: AbortSignal): Promise<Change[]> {
  const entries = listEntries(change);
  const read = (tenant_id: string) => get<RuntimePage>("api/product/runtime", { tenant_id, limit: 200 }, signal);
  const pages = await Promise.all([...new Set(entries.map(({ tenant_id }) => tenant_id))].map(read));
  const changes = new Map(pages.flatMap((page) => page.changes.map((other) => [other.change_id, other])));
  return [...changes.values()].filter((other) => entries.some((entry) => findEntry(other, entry)));
}

const findEntry = (change: Change, key: TargetKey) => listEntries(change).find((entry) => isSameTarget(entry, key));

/** Reads the history of a change; undefined reads nothing. */
export const useHistory = (change: Change | undefined): Resource<Change[]> =>
  useResource(change ? `history ${change.change_id}` : null, (signal) => readHistory(change!, signal));

/** Finds the value that the service last set at a target before a change; undefined if it set none. */
export function findReplaced(
  change: Change,
  history: readonly Change[],
  key: TargetKey = change,
): { value: unknown; by: string } | undefined {
  // A change that was not applied comes after every apply so far.
  const until = change.applied_at ?? "9999";
  const [previous] = history
    .filter(
      (earlier) =>
        earlier.change_id !== change.change_id &&
        earlier.status === "applied" &&
        findEntry(earlier, key)?.value !== undefined &&
        earlier.applied_at !== null &&
        earlier.applied_at < until,
    )
    .sort((a, b) => (a.applied_at! < b.applied_at! ? 1 : -1));
  return previous && { value: findEntry(previous, key)!.value, by: previous.change_id };
}
