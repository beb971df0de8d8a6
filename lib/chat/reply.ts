/** One message and its reply: remembered, a cycle asked for, answered from the records, and kept with its provenance. */
import * as z from "zod";
import type { PulseDeps } from "../pulse/deps.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import { requirePerson } from "../governance/caller.ts";
import { refuseAnonymousWrites, requireToken } from "../http/guards.ts";
import { runCycle } from "../pulse/cycle.ts";
import { tickOf } from "../pulse/state.ts";
import { addTurn, type Citation, type Turn } from "../memory/history.ts";
import { remember } from "../follow/memories.ts";
import { answerByModel, type Question } from "./model_reply.ts";
import { recall, type Recalled, recalledSchema } from "../memory/recall.ts";
import { queryTerms, textTerms } from "../memory/tokens.ts";
import { answerByRules, phrasesFor } from "./rules.ts";
import { type Drafted, draftedSchema } from "./tools.ts";
import { QUESTION_TERMS } from "./topics.ts";

/** What a person sends. */
export interface Message {
  message: string;
  author?: string | undefined;
  conversation_id?: string | undefined;
  /** `off`: memory is neither asked nor added to. */
  memory?: "on" | "off" | undefined;
}

export const chatAnswer = z.object({
  message_id: z.string(),
  reply: z.object({
    id: z.string(),
    text: z.string(),
    mode: z.enum(["rules", "llm"]),
    citations: z.array(z.object({ kind: z.string(), id: z.string() })),
    at: z.string(),
  }),
  /** Whether memories went into the reply. */
  injected: z.boolean(),
  memories: z.array(recalledSchema),
  drafts: z.array(draftedSchema),
  tick: z.number().int(),
});
export type ChatAnswer = z.infer<typeof chatAnswer>;

const MAIN = "main";
const RECALLED = 5;
/** How many memories are looked through: few, then more where a question has been asked over and over. */
const LOOKED_THROUGH = [20, 100, 500];
/** The share of a message's terms that a memory must hold to be thought of. */
const COVERAGE = 1 / 3;

/** Takes a message and resolves with both turns and the answer. Errors: 403 `identity_mismatch`. */
export async function converseWith(
  call: Call<PulseDeps>,
  input: Message,
): Promise<{ answer: ChatAnswer; turns: [Turn, Turn] }> {
  const { deps } = call;
  const author = authorOf(call, input.author);
  const memory = input.memory !== "off";
  const recalled = memory ? await think(deps, input.message) : [];
  const asked = await keepMessage(deps, { ...input, author, memory });
  const tick = await quickCycle(deps);
  const reply = await replyTo(deps, {
    asked,
    known: Boolean(call.person?.trim()),
    memory,
    mayWrite: mayWrite(call),
    memories: recalled,
  });
  const kept = await keepReply(deps, asked, reply);
  const { message_id: id, text, at, citations = [] } = kept;
  const { mode, memories, drafted: drafts } = reply;
  const answer = {
    message_id: asked.message_id,
    reply: { id, text, mode, citations, at },
    injected: memories.length > 0,
    memories,
    drafts,
    tick,
  };
  return { answer, turns: [asked, kept] };
}

/** A reply before it is kept. */
interface Reply {
  text: string;
  mode: "rules" | "llm";
  citations: Citation[];
  memories: Recalled[];
  drafted: Drafted[];
}

/** The model's answer, or, without one and where it fails, the rules' own. What it drafted before it failed is told. */
async function replyTo(deps: PulseDeps, question: Question): Promise<Reply> {
  const { asked, memories } = question;
  const answered = deps.llm && (await answerByModel(deps, deps.llm, question));
  if (answered && !("failed" in answered)) return { ...answered, mode: "llm" };
  const { text, citations } = await answerByRules(deps, asked.text, memories);
  const ofRules = { mode: "rules", citations, memories } as const;
  if (!answered) return { ...ofRules, text, drafted: [] };
  const failed = phrasesFor(asked.text).modelFailed(answered.failed);
  return { ...ofRules, text: `${failed}\n${text}`, drafted: answered.drafted };
}

/** With a trusted proxy the author is the person it names, and no other. */
function authorOf(call: Call<PulseDeps>, author: string | undefined): string | null {
  requirePerson(call, "author", author);
  return author ?? (call.person?.normalize("NFKC").trim() || null);
}

/** What a product write would ask of this request: the token, and behind a proxy a person. */
function mayWrite({ request, deps, person }: Call<PulseDeps>): boolean {
  if (person !== undefined && person.trim() === "") return false;
  try {
    refuseAnonymousWrites(deps);
    requireToken(request, deps);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** The memories that fit; not what was asked before in the same words, which is remembered too, but answers nothing. */
async function think(deps: PulseDeps, message: string): Promise<Recalled[]> {
  const search = { query: message, coverage: COVERAGE, ignored: QUESTION_TERMS };
  const known = new Set([...textTerms(message), ...QUESTION_TERMS]);
  let news: Recalled[] = [];
  for (const limit of LOOKED_THROUGH) {
    const found = await recall(deps, { ...search, limit });
    const said = await Promise.all(found.map((memory) => saidIn(deps.store, memory)));
    news = found.filter((_, index) => {
      const text = said[index];
      return text === undefined || queryTerms(text).some((term) => !known.has(term));
    });
    if (news.length >= RECALLED || found.length < limit) break;
  }
  return news.slice(0, RECALLED);
}

/** The words of a remembered message, without its author; undefined for every other memory. */
async function saidIn(store: PulseDeps["store"], { kind, ref, text }: Recalled): Promise<string | undefined> {
  if (kind !== "chat") return undefined;
  const turn = ref === null ? undefined : await store.get("chat", ref.slice("msg_".length));
  return turn?.value.text ?? text;
}

function keepMessage(
  { store, clock }: PulseDeps,
  message: { message: string; author: string | null; conversation_id?: string | undefined; memory: boolean },
): Promise<Turn> {
  const { message: text, author, conversation_id = MAIN, memory } = message;
  return store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const turn = await addTurn(tx, { role: "user", author, conversation_id, text, at });
    const told = author === null ? text : `${author}: ${text}`;
    if (memory) await remember(tx, { kind: "chat", text: told, at, ref: turn.message_id });
    return turn;
  });
}

function keepReply({ store, clock }: PulseDeps, { conversation_id }: Turn, reply: Reply): Promise<Turn> {
  const { text, mode, citations, memories } = reply;
  return store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const turn = await addTurn(tx, { role: "assistant", author: null, conversation_id, text, at, mode, citations });
    const memory_ids = memories.map(({ id }) => id);
    const injected = memory_ids.length > 0;
    tx.put("meta", "chat_provenance", { injected, reply_id: turn.message_id, memory_ids, mode, at });
    return turn;
  });
}

/** Runs a quick cycle and resolves with the tick; a cycle that fails does not cost the reply. */
async function quickCycle(deps: PulseDeps): Promise<number> {
  try {
    return (await runCycle(deps, { quick: true })).tick;
  } catch (error) {
    deps.log.warn("the cycle of a chat failed", { error: String(error) });
    return tickOf(deps);
  }
}
