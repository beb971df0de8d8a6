/** Handles one chat message: stores it, runs a cycle, answers from the records, and stores the reply with its provenance. */
import * as z from "zod";
import type { OperationsDeps } from "../operations/deps.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import { rejectAnonymousWrites, requireToken } from "../http/guards.ts";
import { requireNamed } from "../http/principals.ts";
import { runCycle } from "../operations/cycle.ts";
import { findChangePage } from "../operations/page_address.ts";
import { computeTick } from "../operations/state.ts";
import { OutcomeUnknown } from "../store/store.ts";
import { addTurn, type Citation, conversationId, type Turn } from "../memory/history.ts";
import { remember } from "../projections/memory.ts";
import { findSpeaker } from "./conversation.ts";
import { confirmDraft, findDraft } from "./confirm_draft.ts";
import { addDraft, type UnconfirmedDraft } from "../memory/draft_store.ts";
import { answerByModel, type Question } from "./model_reply.ts";
import { hasOnlyQuestions } from "../memory/questions.ts";
import { recall, type FoundMemory, foundMemorySchema } from "../memory/recall.ts";
import { textTerms } from "../memory/tokens.ts";
import { FILLER_TERMS } from "../find/filler_words.ts";
import { respond } from "./responder.ts";
import { type DraftResult, draftResultSchema } from "./draft_result.ts";

/** A message of a person. */
export interface Message {
  message: string;
  /** Id of a draft that the person confirms. */
  confirm_draft?: string | undefined;
  author?: string | undefined;
  conversation_id?: string | undefined;
  /** `off`: memory is neither searched nor added to. */
  memory?: "on" | "off" | undefined;
}

export const chatAnswer = z.object({
  message_id: z.string().meta({ description: "Id of the message that was sent.", examples: ["msg_019a8f3e…"] }),
  reply: z
    .object({
      id: z.string().meta({ description: "Id of the reply.", examples: ["msg_019a8f3e…"] }),
      text: z.string().meta({ description: "Text of the reply.", examples: ["One change waits for consent."] }),
      mode: z.enum(["rules", "llm"]).describe("Author of the reply: rules or a model."),
      citations: z
        .array(
          z.object({
            kind: z.string().meta({ description: "Kind of record.", examples: ["change"] }),
            id: z.string().describe("Id of the record."),
          }),
        )
        .describe("Records that the reply is based on."),
      at: z.string().meta({ description: "Time of the reply.", format: "date-time" }),
    })
    .describe("Reply of the service."),
  injected: z.boolean().describe("True if the reply uses memories."),
  memories: z.array(foundMemorySchema).describe("The memories that the reply uses."),
  drafts: z.array(draftResultSchema).describe("Drafts of a model; empty without one."),
  tick: z.number().int().describe("The number of cycles so far."),
});
export type ChatAnswer = z.infer<typeof chatAnswer>;

const MAX_RECALLED = 5;
/** Minimum part of a message's terms that a memory must contain to be recalled. */
const MIN_COVERAGE = 1 / 3;

/**
 * Answers a message, or the confirmation of a draft, and resolves with both turns and the answer. Errors: 403
 * `identity_mismatch`; for a confirmation also 401 `unauthorized`, 403 `person_required` and 404 `not_found`.
 */
export async function replyToMessage(
  call: Call<OperationsDeps>,
  input: Message,
): Promise<{ answer: ChatAnswer; turns: [Turn, Turn] }> {
  const { deps } = call;
  const author = findSpeaker(call, input.author);
  const memory = input.memory !== "off";
  const { message: text, conversation_id = conversationId(author, deps) } = input;
  const confirmedDraft =
    input.confirm_draft === undefined ? undefined : await findOwnDraft(call, input.confirm_draft, author);
  const recalled = memory && !confirmedDraft ? await recallMemories(deps, text, conversation_id) : [];
  const verification = call.identity.person ? ({ known: true } as const) : {};
  const userTurn = await storeMessage(deps, { author, ...verification, conversation_id, text }, memory);
  const tick = await quickCycle(deps);
  const page = (changeId: string): string => findChangePage(call, changeId) ?? `/#/changes/${changeId}`;
  const reply: Reply = confirmedDraft
    ? { ...(await confirmDraft(deps, confirmedDraft, userTurn, page)), mode: "rules", memories: [] }
    : await replyTo(deps, {
        asked: userTurn,
        memory,
        mayWrite: mayWrite(call),
        memories: recalled,
        gone: call.request.signal,
        page,
      });
  const { turn: replyTurn, drafts } = await storeReply(deps, userTurn, reply, mayWrite(call) && !confirmedDraft);
  const { message_id: id, at, citations = [] } = replyTurn;
  const { mode, memories } = reply;
  const answer = {
    message_id: userTurn.message_id,
    reply: { id, text: replyTurn.text, mode, citations, at },
    injected: memories.length > 0,
    memories: [...memories],
    drafts,
    tick,
  };
  return { answer, turns: [userTurn, replyTurn] };
}

/** A reply before it is stored. */
interface Reply {
  text: string;
  mode: "rules" | "llm";
  citations: Citation[];
  memories: readonly FoundMemory[];
  drafted: DraftResult[];
}

/**
 * Returns the model's answer. Without a model, or after its failure, the built-in responder answers. Drafts that the model made
 * before it failed are still part of the reply.
 */
async function replyTo(deps: OperationsDeps, question: Question): Promise<Reply> {
  const { asked: userTurn } = question;
  const modelReply = deps.llm && (await answerByModel(deps, deps.llm, question));
  if (modelReply && !("failed" in modelReply)) return { ...modelReply, mode: "llm" };
  const { text, citations, memories } = await respond(deps, userTurn.text, question.memories, {
    author: userTurn.author,
    page: question.page,
  });
  const ruleReply = { mode: "rules", citations, memories } as const;
  if (!modelReply) return { ...ruleReply, text, drafted: [] };
  const failure = `The language model did not answer (${modelReply.failed}); the built-in responder answers.`;
  return { ...ruleReply, text: `${failure}\n${text}`, drafted: modelReply.drafted };
}

/** Finds the draft that the caller confirms. Errors: those of a product write, 404, and 403 `identity_mismatch`. */
function findOwnDraft(call: Call<OperationsDeps>, draftId: string, author: string | null): Promise<UnconfirmedDraft> {
  requireWriter(call);
  return findDraft(call.deps, draftId, author);
}

/** Requires the token, and behind a proxy a person, as a product write does. Errors: 401, 403 `person_required`. */
function requireWriter({ request, deps, identity }: Call<OperationsDeps>): void {
  rejectAnonymousWrites(deps);
  requireToken(request, deps);
  requireNamed(identity.person, request, deps);
}

function mayWrite(call: Call<OperationsDeps>): boolean {
  try {
    requireWriter(call);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/**
 * Finds matching memories, without statements that only repeat words of the message. Resolves with an empty list when memory
 * cannot be read, so that the reply is still sent.
 */
async function recallMemories(deps: OperationsDeps, message: string, conversation: string): Promise<FoundMemory[]> {
  const known = new Set([...textTerms(message), ...FILLER_TERMS]);
  const search = {
    query: message,
    conversation,
    coverage: MIN_COVERAGE,
    ignored: FILLER_TERMS,
    known,
    limit: MAX_RECALLED,
  };
  try {
    return await recall(deps, search);
  } catch (error) {
    deps.log.warn("memory could not be searched", { error: String(error) });
    return [];
  }
}

/**
 * Stores a message, and with `memory` also a memory of it, unless it only asks questions. If storing both fails, the message is
 * stored alone; a message that may have been stored already is not stored again.
 */
async function storeMessage(
  deps: OperationsDeps,
  fields: Omit<Turn, "message_id" | "role" | "at">,
  memory: boolean,
): Promise<Turn> {
  const { store, clock, log } = deps;
  const at = new Date(clock.now()).toISOString();
  const save = (withMemory: boolean): Promise<Turn> =>
    store.transact(async (tx) => {
      const turn = await addTurn(tx, { role: "user", ...fields, at });
      const { text, author, message_id: ref } = turn;
      if (withMemory && !hasOnlyQuestions(text))
        await remember(tx, { kind: "chat", text, author, at, ref, conversation: turn.conversation_id });
      return turn;
    });
  if (!memory) return save(false);
  try {
    return await save(true);
  } catch (error) {
    if (error instanceof OutcomeUnknown) throw error;
    const turn = await save(false);
    log.warn("a message could not be remembered", { error: String(error) });
    return turn;
  }
}

/**
 * Stores the reply, and the model's drafts of changes if the caller could confirm them (`canConfirm`). The reply to a confirmation
 * stores no draft: a draft that could not be filed keeps its id, so that it can be confirmed again.
 */
function storeReply(
  { store, clock, llm }: OperationsDeps,
  { author, conversation_id, message_id: to }: Turn,
  reply: Reply,
  canConfirm: boolean,
): Promise<{ turn: Turn; drafts: DraftResult[] }> {
  const { text, mode, citations, memories, drafted } = reply;
  const model = llm?.model ?? "";
  return store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const fields = { role: "assistant", author: null, conversation_id, to, text, at, mode, citations } as const;
    const turn = await addTurn(tx, fields);
    const memory_ids = memories.map(({ id }) => id);
    const injected = memory_ids.length > 0;
    tx.put("meta", "chat_provenance", { injected, reply_id: turn.message_id, memory_ids, mode, at });
    const drafts: DraftResult[] = [];
    for (const draft of drafted) {
      const isConfirmable = canConfirm && draft.kind === "change";
      const draft_id = isConfirmable
        ? await addDraft(tx, { model, author, message_id: to, content: draft.content })
        : null;
      drafts.push({ ...draft, draft_id: draft_id ?? draft.draft_id });
    }
    return { turn, drafts };
  });
}

/** Runs a quick cycle and resolves with the tick; when the cycle fails, the reply is still sent. */
async function quickCycle(deps: OperationsDeps): Promise<number> {
  try {
    return (await runCycle(deps, { quick: true })).tick;
  } catch (error) {
    deps.log.warn("the cycle of a chat failed", { error: String(error) });
    return computeTick(deps);
  }
}
