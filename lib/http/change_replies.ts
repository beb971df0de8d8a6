/** Replies to commands that several endpoints share. */
import type { DecisionResult } from "../changes/commands/decide.ts";
import type { FreezeResult } from "../changes/commands/freeze.ts";
import type { ProposalResult } from "../changes/file_proposal.ts";
import type { OperationResult } from "../changes/operations/start.ts";
import type { DryRunResult } from "../changes/operations/dry_run.ts";
import type { CommandResult } from "../changes/transaction.ts";
import type { Reply } from "./replies.ts";

/** Replies with a change and its receipt; `members` stand before the change. */
export function changeReply({ record, change, entry }: CommandResult, members: object = {}): Reply {
  const { change_id, status, revision } = record.change;
  return { members: { change_id, status, ...members, change }, entry, revision };
}

/** Replies with the proposed change. */
export const proposalReply = ({
  record,
  change,
  entry,
  conflicts,
  missing,
  outside,
  target_spelling,
}: ProposalResult): Reply => ({
  status: 201,
  base: change,
  members: { conflicts, missing, outside, target_spelling },
  entry,
  revision: record.change.revision,
});

/** Replies with a consent decision. Only a denied change has a `resolution`. */
export function decisionReply({ missing, ...result }: DecisionResult): Reply {
  const { resolution, approvals } = result.record.change;
  const missingConsents = missing.length > 0 ? { missing } : {};
  return changeReply(result, { decision: resolution ?? "approved", approvals, ...missingConsents });
}

/** Replies with an operation, or with its dry run. */
export function operationReply(result: OperationResult | DryRunResult): Reply {
  // A dry run records nothing, so it has no entry.
  if (result.entry) {
    const { members, ...reply } = changeReply(result);
    return { ...reply, members: { ...members, adapter: result.adapter } };
  }
  const { change, adapter, seen } = result;
  const { change_id, status, revision } = change;
  return { members: { change_id, status, dry_run: true, change, audit_entry: null, adapter, seen }, revision };
}

/** Replies with the freeze in force. */
export const freezeReply = ({ freeze, entry }: FreezeResult): Reply => ({
  members: { frozen: freeze !== null, freeze },
  entry,
});
