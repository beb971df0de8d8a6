/** Records the draft of a model as a proposal. */
import { AppError } from "../../kit/errors.ts";
import type { Tx } from "../../store/store.ts";
import type { ChangesDeps } from "../deps.ts";
import { storeDraft, type DraftProblem, findDraftProblem } from "../drafts.ts";
import { fileProposal } from "../file_proposal.ts";
import { serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { DraftRequester, ProposeInput } from "../rules/command.ts";
import { examineProposal } from "../examine_proposal.ts";
import { runTransaction } from "../transaction.ts";

/** The stored draft, to which the transaction of the proposal adds the id of the change. */
export interface DraftRecord {
  /** Finds the change that an earlier attempt proposed from this draft. */
  findChangeId(tx: Tx): Promise<string | undefined>;
  storeChangeId(tx: Tx, changeId: string): void;
}

/** Records a model's draft once, as a proposal that is never minor and waits for people. */
export async function submitDraft(
  deps: ChangesDeps,
  input: ProposeInput & { proposer: `llm:${string}` },
  requester: DraftRequester,
  draftRecord?: DraftRecord,
): Promise<Pick<Change, "change_id"> | DraftProblem> {
  // This reads target systems, so it runs before the transaction, whose decision may run more than once.
  const { not_allowed, readings } = await examineProposal(deps, input);
  return runTransaction({ deps }, async (transaction): Promise<Pick<Change, "change_id"> | DraftProblem | AppError> => {
    const earlierId = await draftRecord?.findChangeId(transaction.tx);
    if (earlierId !== undefined) return { change_id: earlierId };
    const problem = await findDraftProblem(transaction, input);
    if (problem) return problem;
    const proposal = await fileProposal(
      transaction,
      input,
      serviceActor(input.proposer),
      {},
      { requester, not_allowed, readings },
    );
    // Returned, not thrown: the transaction then commits the entry of the rejection before it throws the error.
    if (proposal instanceof AppError) return proposal;
    const { change } = proposal.record;
    storeDraft(transaction, change);
    draftRecord?.storeChangeId(transaction.tx, change.change_id);
    return change;
  });
}
