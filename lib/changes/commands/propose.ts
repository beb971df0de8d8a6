/** Records a proposal. */
import { AppError } from "../../kit/errors.ts";
import { completeProposal } from "../complete_proposal.ts";
import { findActor, type Caller, requirePerson } from "../caller.ts";
import { wakeForApply } from "../end_automation.ts";
import { fileProposal, type ProposalResult } from "../file_proposal.ts";
import type { ProofInput } from "../proof_input.ts";
import { isReplayed, type ReplayedReply } from "../replies.ts";
import type { RequestedProposal } from "../rules/command.ts";
import { examineProposal } from "../examine_proposal.ts";
import { prefetchTargets } from "../prefetch.ts";
import { runTransaction } from "../transaction.ts";

/** Records a proposal. The proposer is the agent, the stated name, or the person whom the proxy names. */
export async function propose(
  caller: Caller,
  { proof, at, ...requested }: RequestedProposal & ProofInput,
): Promise<ProposalResult | ReplayedReply> {
  const actor = findActor(caller, requested.proposer);
  const completed = await completeProposal(caller.deps, requested).catch(returnRejection);
  const { agent } = caller.identity ?? {};
  const findings = completed instanceof AppError ? {} : await examineProposal(caller.deps, completed, agent);
  const proposer = caller.identity?.agent ?? requested.proposer ?? actor.actor ?? undefined;
  const result = await runTransaction(
    caller,
    async (transaction): Promise<ProposalResult | AppError> => {
      requirePerson(caller, "proposer", requested.proposer);
      if (completed instanceof AppError) throw completed;
      return fileProposal(transaction, { ...completed, proposer }, actor, { proof, at }, findings);
    },
    { prefetch: completed instanceof AppError ? undefined : prefetchTargets(completed) },
  );
  if (!isReplayed(result)) wakeForApply(caller.deps, result.record.change);
  return result;
}

/** Returns an error about the promoted change, to be thrown after the check of the caller's rights; throws other errors. */
function returnRejection(error: unknown): AppError {
  if (error instanceof AppError && error.code !== "invalid_field") return error;
  throw error;
}
