/** Checks which change a proposal may supersede. */
import type { Change } from "./change.ts";
import { type ChangeEntry, listEntries } from "./list_entries.ts";
import { isSameTarget } from "./target_key.ts";

/**
 * Explains why a proposal cannot supersede a change; undefined if it can. A change that is not applied may be superseded by
 * one of another target.
 */
export function findSupersedeProblem(
  earlier: ChangeEntry & Pick<Change, "status">,
  later: ChangeEntry,
): string | undefined {
  const laterEntries = listEntries(later);
  for (const entry of listEntries(earlier)) {
    if (!laterEntries.some(({ tenant_id }) => tenant_id === entry.tenant_id)) return "names a change of another tenant";
    if (earlier.status === "applied" && !laterEntries.some((other) => isSameTarget(other, entry)))
      return `names a change that is applied to ${entry.target}, which a change of another target cannot supersede`;
  }
  return undefined;
}
