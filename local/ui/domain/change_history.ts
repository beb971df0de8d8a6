/** Earlier changes of the targets of a change, and the values that it replaced. */
import { listEntries } from "../../../lib/changes/rules/list_entries.ts";
import { isSameTarget } from "../../../lib/changes/rules/target_key.ts";
import type { Change, RuntimePage, ChangeDetail } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { useMemo } from "preact/hooks";
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { useResource } from "../core/resource.tsx";

type TargetKey = Pick<Change, "tenant_id" | "target">;

/** Reads the changes that set one of the targets of a change, newest first. */
export async function readHistory(change: Change, signal: AbortSignal): Promise<Change[]> {
  const entries = listEntries(change);
  const read = (tenant_id: string) => get<RuntimePage>("api/product/runtime", { tenant_id, limit: 200 }, signal);
  const pages = await Promise.all([...new Set(entries.map(({ tenant_id }) => tenant_id))].map(read));
  const changes = new Map(pages.flatMap((page) => page.changes.map((one) => [one.change_id, one])));
  return [...changes.values()].filter((one) => entries.some((entry) => findEntry(one, entry)));
}

const findEntry = (change: Change, key: TargetKey) => listEntries(change).find((entry) => isSameTarget(entry, key));

/** Finds the value that the service last set at a target before a change; undefined if it set none. */
export function findReplaced(
  change: Change,
  history: readonly Change[],
  key: TargetKey = change,
): { value: unknown; by: string } | undefined {
  const until = change.applied_at ?? "9999";
  const [previous] = history
    .filter(
      (one) =>
        one.change_id !== change.change_id &&
        one.status === "applied" &&
        findEntry(one, key)?.value !== undefined &&
        one.applied_at !== null &&
        one.applied_at < until,
    )
    .sort((a, b) => (a.applied_at! < b.applied_at! ? 1 : -1));
  return previous && { value: findEntry(previous, key)!.value, by: previous.change_id };
}

/** Finds the change on a target whose value has the digest; undefined while the history is read, `by` undefined if no change has it. */
export function useSetter(change: ChangeDetail, digest: string | undefined): { by: Change | undefined } | undefined {
  const read = (signal: AbortSignal) => readHistory(change, signal);
  const { data: history, error } = useResource(`history ${change.change_id}`, read);
  return useMemo(() => {
    if (!(history ?? error)) return undefined;
    const hasSet = ({ change_id, value }: Change) =>
      change_id !== change.change_id && value !== undefined && portableSha256(canonicalJson(value)) === digest;
    return { by: history?.find(hasSet) };
  }, [history, error, digest]);
}
