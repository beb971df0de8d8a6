/** One message and its reply: remembered, a cycle asked for, answered from the records, and kept with its provenance. */
import * as z from "zod";
import type { PulseDeps } from "../pulse/deps.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import { requirePerson } from "../governance/caller.ts";
import { refuseAnonymousWrites, requireToken } from "../http/guards.ts";
import { runCycle } from "../pulse/cycle.ts";
import { tickOf } from "../pulse/state.ts";
import { withoutEchoes } from "./novelty.ts";
import { addTurn, type Turn } from "./history.ts";
import { type Recalled, recalledSchema, remember } from "../memory/memories.ts";
import { answerByModel, type Question } from "./model_reply.ts";
import { recall } from "../memory/recall.ts";
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

/** `meta/chat_provenance`: what the latest reply was made of. */
export interface ChatProvenance {
  injected: boolean;
  reply_id: string;
  memory_ids: string[];
  mode: "rules" | "llm";
  at: string;
}

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
  const question: Question = { asked, memory, mayWrite: mayWrite(call), memories: recalled };
  const reply = await replyTo(deps, question);
  const kept = await keepReply(deps, asked, reply);
  const { message_id: id, text, at, citations = [] } = kept;
  const { mode, memories, drafted: drafts } = reply;
  return {
    answer: {
      message_id: asked.message_id,
      reply: { id, text, mode, citations, at },
      injected: memories.length > 0,
      memories,
      drafts,
      tick,
    },
    turns: [asked, kept],
  };
}

/** A reply before it is kept. */
interface Reply {
  text: string;
  mode: "rules" | "llm";
  citations: { kind: string; id: string }[];
  memories: Recalled[];
  drafted: Drafted[];
}

/** The model's answer, or, without one and where it fails, the rules' own. What it drafted before it failed is told. */
async function replyTo(deps: PulseDeps, question: Question): Promise<Reply> {
  const { asked, memories } = question;
  const rules = () => answerByRules(deps, asked.text, memories);
  if (!deps.llm) return { ...(await rules()), mode: "rules", memories, drafted: [] };
  const answered = await answerByModel(deps, deps.llm, question);
  if (!("failed" in answered)) return { ...answered, mode: "llm" };
  const { text, citations } = await rules();
  return {
    text: `${phrasesFor(asked.text).modelFailed(answered.failed)}\n${text}`,
    mode: "rules",
    citations,
    memories,
    drafted: answered.drafted,
  };
}

/** With a trusted proxy the author is the person it names, and no other. */
function authorOf(call: Call<PulseDeps>, author: string | undefined): string | null {
  if (author !== undefined) requirePerson(call, "author", author);
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

async function think(deps: PulseDeps, message: string): Promise<Recalled[]> {
  const search = { query: message, coverage: COVERAGE, ignored: QUESTION_TERMS };
  let news: Recalled[] = [];
  for (const limit of LOOKED_THROUGH) {
    const found = await recall(deps, { ...search, limit });
    news = (await withoutEchoes(deps.store, message, found)).slice(0, RECALLED);
    if (news.length === RECALLED || found.length < limit) break;
  }
  return news;
}

function keepMessage(
  { store, clock }: PulseDeps,
  {
    message,
    author,
    conversation_id,
    memory,
  }: Omit<Message, "author" | "memory"> & { author: string | null; memory: boolean },
): Promise<Turn> {
  return store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const turn = await addTurn(tx, {
      role: "user",
      author,
      conversation_id: conversation_id ?? MAIN,
      text: message,
      at,
    });
    const text = author === null ? message : `${author}: ${message}`;
    if (memory) await remember(tx, { kind: "chat", text, at, ref: turn.message_id });
    return turn;
  });
}

function keepReply({ store, clock }: PulseDeps, { conversation_id }: Turn, reply: Reply): Promise<Turn> {
  const { text, mode, citations, memories } = reply;
  return store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const turn = await addTurn(tx, { role: "assistant", author: null, conversation_id, text, at, mode, citations });
    const provenance: ChatProvenance = {
      injected: memories.length > 0,
      reply_id: turn.message_id,
      memory_ids: memories.map(({ id }) => id),
      mode,
      at,
    };
    tx.put("meta", "chat_provenance", provenance);
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
