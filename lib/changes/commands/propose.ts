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
  const stated = await completeProposal(caller.deps, requested).catch(asRejection);
  const { agent } = caller.identity ?? {};
  const findings = stated instanceof AppError ? {} : await examineProposal(caller.deps, stated, agent);
  const proposer = caller.identity?.agent ?? requested.proposer ?? actor.actor ?? undefined;
  const result = await runTransaction(
    caller,
    async (transaction): Promise<ProposalResult | AppError> => {
      requirePerson(caller, "proposer", requested.proposer);
      if (stated instanceof AppError) throw stated;
      return fileProposal(transaction, { ...stated, proposer }, actor, { proof, at }, findings);
    },
    { prefetch: stated instanceof AppError ? undefined : prefetchTargets(stated) },
  );
  if (!isReplayed(result)) wakeForApply(caller.deps, result.record.change);
  return result;
}

/** Returns the error of a promotion, to be thrown after the caller's rights were checked; throws `invalid_field` and faults. */
function asRejection(error: unknown): AppError {
  if (error instanceof AppError && error.code !== "invalid_field") return error;
  throw error;
}
