/** Stores a draft of the model as a proposal, when the person for whom it was made confirms it. */
import { cite, joinLines } from "../find/found_text.ts";
import { type DraftProblem, MAX_OPEN_DRAFTS } from "../changes/drafts.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { submitDraft } from "../changes/commands/submit_draft.ts";
import { parseInput } from "../http/form.ts";
import { AppError } from "../kit/errors.ts";
import type { Citation, Turn } from "../memory/history.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { recordStored, readDraft, type UnconfirmedDraft } from "../memory/draft_store.ts";
import type { DraftResult } from "./draft_result.ts";
import { draftFields } from "./tools.ts";

/** Finds a draft of the caller. Errors: 404 `not_found`, 403 `identity_mismatch` for a draft that was made for another person. */
export async function findDraft(
  { store }: OperationsDeps,
  draftId: string,
  author: string | null,
): Promise<UnconfirmedDraft> {
  const draft = await readDraft(store, draftId);
  if (!draft) throw new AppError("not_found", `there is no draft ${draftId}; it may be too old: ask for it again`);
  if (normalizeName(draft.author ?? "") !== normalizeName(author ?? ""))
    throw new AppError("identity_mismatch", "the draft was made for another person, and only they can confirm it");
  return draft;
}

/** Stores a draft as a proposal, or explains why it cannot be stored. A second confirmation returns the same change. */
export async function confirmDraft(
  deps: OperationsDeps,
  draft: UnconfirmedDraft,
  question: Turn,
  page: (changeId: string) => string,
): Promise<{ text: string; citations: Citation[]; drafted: DraftResult[] }> {
  const { draft_id, model, message_id, content } = draft;
  const draftFacts = { kind: "change", content } as const;
  const storedReply = (changeId: string) => ({
    text: joinLines(`The draft is stored as ${changeId}. People decide on it here:`, page(changeId)),
    citations: cite("change", [changeId]),
    drafted: [{ ...draftFacts, stored: true, draft_id: null, change_id: changeId, reason: null }],
  });
  const rejectionReply = ({ reason, changeIds }: DraftRejection) => ({
    text: `The draft is not stored: ${reason}.`,
    citations: cite("change", changeIds),
    drafted: [{ ...draftFacts, stored: false, draft_id, change_id: null, reason }],
  });
  if (!deps.product) return rejectionReply({ reason: "the service has no product intent", changeIds: [] });
  if (draft.change_id !== undefined) return storedReply(draft.change_id);
  try {
    // A proposer's name has at most 200 characters.
    const proposal = { ...parseInput(draftFields(deps), content), proposer: `llm:${model.slice(0, 190)}` } as const;
    const request = { asked_by: question.author, isVerified: question.known ?? false, message_id };
    const result = await submitDraft(deps, proposal, request, {
      findChangeId: async (tx) => (await readDraft(tx, draft_id))?.change_id,
      storeChangeId: (tx, changeId) => recordStored(tx, draft, changeId),
    });
    return "change_id" in result ? storedReply(result.change_id) : rejectionReply(explainRejection(result));
  } catch (error) {
    if (error instanceof AppError && error.status < 500)
      return rejectionReply({ reason: error.message, changeIds: [] });
    throw error;
  }
}

/** The reason why a draft was not stored, and the changes that block it. */
interface DraftRejection {
  reason: string;
  changeIds: string[];
}

function explainRejection(problem: DraftProblem): DraftRejection {
  if ("open" in problem)
    return {
      reason: `${MAX_OPEN_DRAFTS} drafts wait for consent already: ${problem.open.join(", ")}`,
      changeIds: problem.open,
    };
  if ("waits" in problem)
    return { reason: `this very change waits for consent already: ${problem.waits}`, changeIds: [problem.waits] };
  const { change_id, resolution, approver, approval_note } = problem.turned_down;
  const by = approver === null ? "" : ` by ${approver}`;
  const noteText = approval_note === null || approval_note === "" ? "" : ` (“${approval_note}”)`;
  return {
    reason: `people turned down this very change: ${change_id} was ${resolution}${by}${noteText}. You may propose it yourself`,
    changeIds: [change_id],
  };
}
