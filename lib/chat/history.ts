/** The conversation as it was: what people wrote and what was answered. Bounded. */
import { invalidField } from "../kit/errors.ts";
import type { Store, Stored, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    chat: Turn;
    chat_places: true;
  }
  interface Meta {
    chat: { seq: number };
  }
}

/** The oldest go first. */
export const TURNS = 20_000;

/** What a reply refers to: a record's kind and id. */
export interface Citation {
  kind: string;
  id: string;
}

/** `chat/<16 digits>`, counting up: one message. */
export interface Turn {
  /** `msg_` and the record id. */
  message_id: string;
  role: "user" | "assistant";
  author: string | null;
  /** One line. */
  conversation_id: string;
  text: string;
  at: string;
  /** Of a reply: who worded it. */
  mode?: "rules" | "llm";
  citations?: Citation[];
}

const keyOf = (seq: number): string => String(seq).padStart(16, "0");

/** The id in the view by conversation; its last 16 characters are the message's. */
const placeOf = (conversation: string, key: string): string => `${conversation}\n${key}`;

/** Adds a message and resolves with it and its id. */
export async function addTurn(tx: Tx, turn: Omit<Turn, "message_id">): Promise<Turn> {
  const kept = await tx.get("meta", "chat");
  const seq = (kept?.value.seq ?? 0) + 1;
  const added: Turn = { message_id: `msg_${keyOf(seq)}`, ...turn };
  tx.put("meta", "chat", { seq }, kept?.revision ?? 0);
  tx.put("chat", keyOf(seq), added);
  tx.put("chat_places", placeOf(turn.conversation_id, keyOf(seq)), true);
  if (seq > TURNS) await forget(tx, keyOf(seq - TURNS));
  return added;
}

async function forget(tx: Tx, key: string): Promise<void> {
  const turn = (await tx.get("chat", key))?.value;
  if (!turn) return;
  tx.delete("chat", key);
  tx.delete("chat_places", placeOf(turn.conversation_id, key));
}

/** Which messages: the newest, or those before a message id. */
export interface TurnQuery {
  limit: number;
  before?: string | undefined;
  conversation_id?: string | undefined;
}

/** Messages in the order they were written; `next` is the `before` of the page before this one, or `null`. */
export async function turnsBefore(store: Store, query: TurnQuery): Promise<{ turns: Turn[]; next: string | null }> {
  const before = /^msg_(\d{16})$/.exec(query.before ?? "")?.[1];
  if (query.before !== undefined && before === undefined) throw invalidField("before", "must be a message id, msg_…");
  const options = { limit: query.limit + 1, before };
  const newestFirst =
    query.conversation_id === undefined
      ? await store.list("chat", { ...(before ? { after: before } : {}), limit: options.limit, reverse: true })
      : await ofConversation(store, query.conversation_id, options);
  const turns = newestFirst.slice(0, query.limit).map(({ value }) => value);
  const next = newestFirst.length > query.limit ? turns.at(-1)!.message_id : null;
  return { turns: turns.reverse(), next };
}

async function ofConversation(
  store: Store,
  conversation: string,
  { limit, before }: { limit: number; before: string | undefined },
): Promise<Stored<Turn>[]> {
  const places = await store.list("chat_places", {
    after: placeOf(conversation, before ?? "\uffff"),
    limit,
    reverse: true,
  });
  const own = places.filter(({ id }) => id.startsWith(placeOf(conversation, "")));
  const found = await Promise.all(own.map(({ id }) => store.get("chat", id.slice(-16))));
  return found.filter((turn) => turn !== undefined);
}
