/** Stores conversations: messages and their replies, up to a maximum number. */
import { appendRecord, type BufferState, sequenceKey } from "../projections/buffer.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { invalidField } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Store, Stored, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    chat: Turn;
    /** Index by conversation: `<conversation>\n<key of the message>`. */
    chat_places: true;
  }
  interface Meta {
    chat: BufferState;
  }
}

/** Maximum number of stored messages; the oldest are removed first. */
export const MAX_TURNS = 20_000;

/** A record to which a reply refers. */
export interface Citation {
  kind: string;
  id: string;
}

/** `chat/<16 digits>`: one message. */
export interface Turn {
  /** `msg_` and the record id. */
  message_id: string;
  role: "user" | "assistant";
  author: string | null;
  /** True if a trusted proxy named the author. */
  known?: true;
  conversation_id: string;
  text: string;
  at: string;
  /** In a reply: the message that it answers. */
  to?: string;
  /** In a reply: whether rules or a model worded it. */
  mode?: "rules" | "llm";
  citations?: Citation[];
}

/** Prefix of personal conversations, which requests cannot name. */
export const PERSONAL_PREFIX = "person:";

/** Returns the default conversation of a caller: their own, or the common one for unnamed callers. */
export const conversationId = (person: string | null, { sha256 }: { sha256: Sha256 }): string =>
  person === null ? "main" : `${PERSONAL_PREFIX}${sha256(normalizeName(person))}`;

/** Returns the key of a message in the index by conversation; its last 16 characters are the key of the message. */
const conversationKey = (conversation: string, key: string): string => `${conversation}\n${key}`;

/** Adds a message; returns it with its id. */
export async function addTurn(tx: Tx, turn: Omit<Turn, "message_id">): Promise<Turn> {
  const makeTurn = (seq: number): Turn => ({ message_id: `msg_${sequenceKey(seq)}`, ...turn });
  const buffer = await appendRecord(tx, "chat", (await tx.get("meta", "chat"))?.value, makeTurn, {
    maxCount: MAX_TURNS,
    onRemove: ({ id, value }) => tx.delete("chat_places", conversationKey(value.conversation_id, id)),
  });
  tx.put("meta", "chat", buffer);
  tx.put("chat_places", conversationKey(turn.conversation_id, sequenceKey(buffer.seq)), true);
  return makeTurn(buffer.seq);
}

/**
 * Lists the newest messages, or the newest before a message id, oldest first; of one conversation, or of all. `next` is the
 * `before` of the next older page; `null` at the oldest message.
 */
export async function readTurns(
  store: Store,
  query: { limit: number; before?: string | undefined; conversation_id?: string | undefined },
): Promise<{ turns: Turn[]; next: string | null }> {
  const before = /^msg_(\d{16})$/.exec(query.before ?? "")?.[1];
  if (query.before !== undefined && before === undefined) throw invalidField("before", "must be a message id, msg_…");
  const newestFirst = { limit: query.limit + 1, reverse: true };
  const found =
    query.conversation_id === undefined
      ? await store.list("chat", { ...newestFirst, ...(before && { after: before }) })
      : await listConversation(store, query.conversation_id, before, newestFirst);
  const turns = found.slice(0, query.limit).map(({ value }) => value);
  const next = found.length > query.limit ? turns.at(-1)!.message_id : null;
  return { turns: turns.reverse(), next };
}

/** Lists messages of a conversation, newest first. `before`: a message key; the default sorts after every key. */
async function listConversation(
  store: Store,
  conversation: string,
  before = "\uffff",
  newestFirst: { limit: number; reverse: boolean },
): Promise<Stored<Turn>[]> {
  const [prefix, after] = [conversationKey(conversation, ""), conversationKey(conversation, before)];
  const rows = await store.list("chat_places", { ...newestFirst, prefix, after, keysOnly: true });
  const keys = rows.map(({ id }) => id.slice(-16));
  // A message may have been removed since its row was read.
  return (await store.getMany("chat", keys)).filter((turn) => turn !== undefined);
}
