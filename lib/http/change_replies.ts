/** Replies to commands that several endpoints share. */
import type { DecisionResult } from "../changes/commands/decide.ts";
import type { FreezeResult } from "../changes/commands/freeze.ts";
import type { ProposalResult } from "../changes/file_proposal.ts";
import type { OperationResult } from "../changes/operations/start.ts";
import type { DryRunResult } from "../changes/operations/dry_run.ts";
import type { CommandResult } from "../changes/transaction.ts";
import type { Reply } from "./replies.ts";

/** Replies with a change and its receipt; `members` come between its id and status and the change. */
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

/** Replies with a consent decision. */
export function decisionReply({ missing, ...enacted }: DecisionResult): Reply {
  const { resolution, approvals } = enacted.record.change;
  const lacking = missing.length > 0 ? { missing } : {};
  return changeReply(enacted, { decision: resolution ?? "approved", approvals, ...lacking });
}

/** Replies with an operation that was done, or with its dry run. */
export function operationReply(result: OperationResult | DryRunResult): Reply {
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
