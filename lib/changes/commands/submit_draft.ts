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

/** The stored draft, in which the same transaction notes the change. */
export interface DraftRecord {
  /** Returns the id of the change that the draft was recorded as before. */
  storedAs(tx: Tx): Promise<string | undefined>;
  markStored(tx: Tx, changeId: string): void;
}

/** Records a model's draft once, as a proposal that is never minor and waits for people. */
export async function submitDraft(
  deps: ChangesDeps,
  input: ProposeInput & { proposer: `llm:${string}` },
  requester: DraftRequester,
  draftRecord?: DraftRecord,
): Promise<Pick<Change, "change_id"> | DraftProblem> {
  const { not_allowed, readings } = await examineProposal(deps, input);
  return runTransaction({ deps }, async (transaction): Promise<Pick<Change, "change_id"> | DraftProblem | AppError> => {
    const stored = await draftRecord?.storedAs(transaction.tx);
    if (stored !== undefined) return { change_id: stored };
    const reason = await findDraftProblem(transaction, input);
    if (reason) return reason;
    const draft = await fileProposal(
      transaction,
      input,
      serviceActor(input.proposer),
      {},
      { requester, not_allowed, readings },
    );
    if (draft instanceof AppError) return draft;
    storeDraft(transaction, draft.record.change);
    draftRecord?.markStored(transaction.tx, draft.record.change.change_id);
    return draft.record.change;
  });
}
