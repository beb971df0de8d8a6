/** The digests of what a page shows of target systems, which a consent records. */
import { type Decision, isConsent } from "../../../lib/changes/rules/statement.ts";
import type { Fields } from "../core/api.ts";
import type { ChangeDetail } from "../core/api_types.ts";

/** Returns the digests for a consent; undefined for another decision, and where no place can be read. */
export const findSeen = (decision: Decision | undefined, { seen }: Pick<ChangeDetail, "seen">): string[] | undefined =>
  isConsent(decision) ? seen?.map(({ digest }) => digest) : undefined;

/** Returns the field that carries them. */
export function makeSeenField(decision: Decision | undefined, change: Pick<ChangeDetail, "seen">): Fields {
  const seen = findSeen(decision, change);
  return seen ? { seen: JSON.stringify(seen) } : {};
}
