/** Stores the latest drafts of the model: their content until a person confirms them, then the id of their change. */
import { appendRecord, type BufferState, sequenceKey } from "../projections/buffer.ts";
import type { Store, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    chat_drafts: UnconfirmedDraft;
  }
  interface Meta {
    chat_drafts: BufferState;
  }
}

/** `chat_drafts/<16 digits>`: a model's draft of a proposal. */
export interface UnconfirmedDraft {
  draft_id: string;
  /** The name of the model. */
  model: string;
  /** The person who asked for the draft, and the message in which they asked. */
  author: string | null;
  message_id: string;
  /** The fields of the proposal. */
  content: Record<string, unknown>;
  /** The change that the draft was stored as. */
  change_id?: string;
}

/** Number of drafts that are stored, confirmed ones included; the oldest are removed first. */
const MAX_DRAFTS = 100;
const PREFIX = "draft_";

/** Adds a draft and returns its id. */
export async function addDraft(tx: Tx, draft: Omit<UnconfirmedDraft, "draft_id">): Promise<string> {
  const makeDraft = (seq: number): UnconfirmedDraft => ({ draft_id: PREFIX + sequenceKey(seq), ...draft });
  const buffer = (await tx.get("meta", "chat_drafts"))?.value;
  const next = await appendRecord(tx, "chat_drafts", buffer, makeDraft, { maxCount: MAX_DRAFTS });
  tx.put("meta", "chat_drafts", next);
  return PREFIX + sequenceKey(next.seq);
}

/** Reads a draft; undefined if it does not exist, or was removed. */
export async function readDraft(reads: Pick<Store, "get">, draftId: string): Promise<UnconfirmedDraft | undefined> {
  if (!draftId.startsWith(PREFIX)) return undefined;
  return (await reads.get("chat_drafts", draftKey(draftId)))?.value;
}

/** Replaces a draft's content by the id of its change, so that a second confirmation returns the same change. */
export const recordStored = (tx: Tx, draft: UnconfirmedDraft, changeId: string): void =>
  tx.put("chat_drafts", draftKey(draft.draft_id), { ...draft, content: {}, change_id: changeId });

const draftKey = (draftId: string): string => draftId.slice(PREFIX.length);
