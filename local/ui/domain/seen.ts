import { type Decision, isConsentDecision } from "../../../lib/changes/rules/statement.ts";
import type { ChangeDetail } from "../core/api_types.ts";

/** Returns the digests of what a page shows of target systems, which a consent records; undefined for another decision, and where no place can be read. */
export const listSeenDigests = (
  decision: Decision | undefined,
  { seen }: Pick<ChangeDetail, "seen">,
): string[] | undefined => (isConsentDecision(decision) ? seen?.map(({ digest }) => digest) : undefined);
