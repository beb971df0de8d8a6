/** Drafts of the model that wait for a person to confirm them. The oldest are removed first. */
import { push, type BufferState, sequenceKey } from "../projections/buffer.ts";
import type { Store, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    chat_drafts: UnconfirmedDraft;
  }
  interface Meta {
    chat_drafts: BufferState;
  }
}

/** `chat_drafts/<16 digits>`: what a model drafted, and for whom. */
export interface UnconfirmedDraft {
  draft_id: string;
  /** The name of the model. */
  model: string;
  /** The person who asked for it, and the message in which they did. */
  author: string | null;
  message_id: string;
  /** The fields of the proposal. */
  content: Record<string, unknown>;
  /** The change it was stored as. */
  change_id?: string;
}

const MAX_UNCONFIRMED = 100;
const PREFIX = "draft_";

/** Adds a draft and returns its id. */
export async function addDraft(tx: Tx, draft: Omit<UnconfirmedDraft, "draft_id">): Promise<string> {
  const makeDraft = (seq: number): UnconfirmedDraft => ({ draft_id: PREFIX + sequenceKey(seq), ...draft });
  const buffer = (await tx.get("meta", "chat_drafts"))?.value;
  const next = await push(tx, "chat_drafts", buffer, makeDraft, { most: MAX_UNCONFIRMED });
  tx.put("meta", "chat_drafts", next);
  return PREFIX + sequenceKey(next.seq);
}

/** Reads a draft; undefined where there is none, or no longer. */
export async function readDraft(reads: Pick<Store, "get">, draftId: string): Promise<UnconfirmedDraft | undefined> {
  if (!draftId.startsWith(PREFIX)) return undefined;
  return (await reads.get("chat_drafts", keyOf(draftId)))?.value;
}

/** Records the change that a draft was stored as, so that a second confirmation returns the same change; its content goes. */
export const recordStored = (tx: Tx, draft: UnconfirmedDraft, changeId: string): void =>
  tx.put("chat_drafts", keyOf(draft.draft_id), { ...draft, content: {}, change_id: changeId });

const keyOf = (draftId: string): string => draftId.slice(PREFIX.length);
