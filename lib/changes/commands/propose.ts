/** Records a proposal. */
import { AppError } from "../../kit/errors.ts";
import { findActor, type Caller, requirePerson } from "../caller.ts";
import { fileProposal, type ProposalResult } from "../file_proposal.ts";
import type { ProofInput } from "../proof_input.ts";
import type { Replayed } from "../replies.ts";
import type { ProposeInput } from "../rules/command.ts";
import { readSeen } from "../seen.ts";
import { governed } from "../transaction.ts";

/** Reads what the places of a proposal hold; `null` where they cannot be read now. */
async function readFound(deps: Caller["deps"], stated: ProposeInput): Promise<string[] | null | undefined> {
  try {
    return (await readSeen(deps, stated))?.map(({ digest }) => digest);
  } catch (error) {
    // The proposal says so itself, as the transaction judges it.
    if (error instanceof AppError) return undefined;
    return null;
  }
}

/** Records a proposal of the agent, the person whom the proxy names, or the stated proposer. */
export async function propose(
  caller: Caller,
  { proof, at, ...stated }: ProposeInput & ProofInput,
): Promise<ProposalResult | Replayed> {
  const actor = findActor(caller, stated.proposer);
  const seen = stated.tier === "minor" ? await readFound(caller.deps, stated) : undefined;
  const proposer = caller.identity?.agent ?? stated.proposer ?? actor.actor ?? undefined;
  return governed(caller, (transaction): Promise<ProposalResult | AppError> => {
    requirePerson(caller, "proposer", stated.proposer);
    return fileProposal(transaction, { ...stated, proposer }, actor, { proof, at }, { seen });
  });
}
