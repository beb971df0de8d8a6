/** Rollbacks after which a target needs a person before a change of it can be minor again. */
import type { TargetKey } from "./rules/target_key.ts";
import { DAY_MS } from "../kit/days.ts";
import type { Evidence } from "./evidence.ts";
import { parseDetail } from "./rules/event.ts";
import { canBeApprover } from "./rules/approver_name.ts";

/** Maximum number of proposals of a target that are searched for an approval, newest first; none in them counts as no approval. */
const MAX_PROPOSALS_SEARCHED = 500;

/** Events that roll a target back; a failed rollback of a plan is about the targets that it restored. */
const ROLLBACK_EVENTS: ReadonlySet<string> = new Set(["change_rolled_back", "change_rollback_failed"]);

/** Finds when a target was last rolled back, if that is within 24 hours and no person has approved a change of it since. */
export async function findUnapprovedRollback(
  evidence: Evidence,
  target: TargetKey,
  at: string,
): Promise<string | undefined> {
  const next = evidence.walkOwnershipSince(target, new Date(Date.parse(at) - DAY_MS).toISOString());
  for (let entry; (entry = await next());) {
    if (!ROLLBACK_EVENTS.has(entry.event_type)) continue;
    return (await isApprovedSince(evidence, target, entry.id)) ? undefined : entry.timestamp;
  }
  return undefined;
}

async function isApprovedSince(evidence: Evidence, target: TargetKey, entryId: number): Promise<boolean> {
  const next = evidence.walkTarget("proposed", target);
  for (let searched = 0; searched < MAX_PROPOSALS_SEARCHED; searched++) {
    const proposal = await next();
    if (!proposal) return false;
    const later = await evidence.entriesAbout(proposal.change_id, entryId + 1);
    if (later.some(({ event_type, detail }) => event_type === "consent_decision" && isApproval(detail))) return true;
  }
  return false;
}

/** Returns true for a person's consent that completes a quorum; an earlier consent is not enough. */
function isApproval(text: string): boolean {
  const { decision, status, approver } = parseDetail(text);
  return decision === "approved" && status === "approved" && canBeApprover(approver ?? "");
}
