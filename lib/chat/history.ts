/** The conversation as it was: what people wrote and what was answered. Bounded. */
import { push, type Ring, ringKey } from "../follow/ring.ts";
import { invalidField } from "../kit/errors.ts";
import type { Store, Stored, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    chat: Turn;
    chat_places: true;
  }
  interface Meta {
    chat: Ring;
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

/** The id in the view by conversation; its last 16 characters are the message's. */
const placeOf = (conversation: string, key: string): string => `${conversation}\n${key}`;

/** Adds a message and resolves with it and its id. */
export async function addTurn(tx: Tx, turn: Omit<Turn, "message_id">): Promise<Turn> {
  const made = (seq: number): Turn => ({ message_id: `msg_${ringKey(seq)}`, ...turn });
  const { ring, gone } = await push(tx, "chat", (await tx.get("meta", "chat"))?.value, made, { most: TURNS });
  tx.put("meta", "chat", ring);
  tx.put("chat_places", placeOf(turn.conversation_id, ringKey(ring.seq)), true);
  for (const { id, value } of gone) tx.delete("chat_places", placeOf(value.conversation_id, id));
  return made(ring.seq);
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
  const prefix = placeOf(conversation, "");
  const after = placeOf(conversation, before ?? "\uffff");
  const places = await store.list("chat_places", { prefix, after, limit, reverse: true, keysOnly: true });
  const found = await store.getMany(
    "chat",
    places.map(({ id }) => id.slice(-16)),
  );
  return found.filter((turn) => turn !== undefined);
}
