/** Lets the language model reply, from a snapshot of the records and matching memories. */
import { NO_KPIS } from "../changes/rules/kpi.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { joinLines } from "../find/found_text.ts";
import { converse } from "../llm/converse.ts";
import { listFailures, computeKpiEffect, readOverview, listWaiting } from "./facts.ts";
import { type Citation, type Turn, readTurns } from "../memory/history.ts";
import { type Llm, LlmFailed } from "../llm/port.ts";
import type { FoundMemory } from "../memory/recall.ts";
import { promptMessages, systemPrompt } from "./prompt.ts";
import type { DraftResult } from "./draft_result.ts";
import { createToolbox } from "./tools.ts";

const MAX_EARLIER_TURNS = 10;
const MAX_CITATIONS = 20;

/** A stored message, and the context in which it is answered. */
export interface Question {
  asked: Turn;
  /** True if memory may be searched. */
  memory: boolean;
  /** True if the caller may write to the product. */
  mayWrite: boolean;
  memories: FoundMemory[];
  /** Aborted when the caller disconnects. */
  gone?: AbortSignal | undefined;
  /** Returns the address of the page on which a person decides on a change. */
  page(changeId: string): string;
}

/** The model's answer, or the reason for its failure; in both cases with its drafts. */
type ModelReply = { drafted: DraftResult[] } & (
  { text: string; citations: Citation[]; memories: FoundMemory[] } | { failed: string }
);

/** Asks the model. A failure is logged without the text of the conversation. */
export async function answerByModel(deps: OperationsDeps, llm: Llm, question: Question): Promise<ModelReply> {
  const { asked, memory, mayWrite } = question;
  const drafted: DraftResult[] = [];
  const memories = [...question.memories];
  const queries = new Set<string>();
  // The tools add to `drafted`, `queries` and `memories` while the model calls them.
  const tools = createToolbox({
    deps,
    caller: asked.author,
    conversation: asked.conversation_id,
    mayWrite,
    memory,
    drafted,
    queries,
    recalled: memories,
  });
  const fence = `data ${crypto.randomUUID()}`;
  const { conversation_id, message_id: before } = asked;
  const { turns } = await readTurns(deps.store, { conversation_id, before, limit: MAX_EARLIER_TURNS });
  const data = { snapshot: await readSnapshot(deps), memories: question.memories };
  const messages = promptMessages(asked, fence, data, turns);
  try {
    const reply = await converse(llm, systemPrompt(fence), messages, tools, question.gone);
    // The queries that the tools ran follow the reply, for the person to see.
    const text = joinLines(reply, [...queries]);
    return {
      text,
      drafted,
      memories: removeDuplicates(memories),
      citations: await listCitations(deps, reply, memories),
    };
  } catch (error) {
    const failed = error instanceof LlmFailed ? error.message : "it failed";
    deps.log.warn("the language model failed", { model: llm.model, reason: failed, error: (error as Error).name });
    return { failed, drafted };
  }
}

async function readSnapshot(deps: OperationsDeps) {
  return {
    ...(await readOverview(deps)),
    ...(deps.product
      ? { waiting: await listWaiting(deps), kpis: await computeKpiEffect(deps), failures: await listFailures(deps) }
      : {}),
  };
}

const removeDuplicates = (memories: readonly FoundMemory[]): FoundMemory[] => [
  ...new Map(memories.map((memory) => [memory.id, memory])).values(),
];

/** Lists the records and memories that a text names, without records that do not exist. */
async function listCitations(
  { store }: OperationsDeps,
  text: string,
  memories: readonly FoundMemory[],
): Promise<Citation[]> {
  const named = [...text.matchAll(/chg_[0-9a-f-]{36}|mem_\d{16}/g)].map(([id]) => id);
  const ids = [...new Set(named)].slice(0, MAX_CITATIONS);
  const changes = await store.getMany("changes", ids);
  const records = ids.flatMap((id, index) => {
    if (memories.some((memory) => memory.id === id)) return { kind: "memory", id };
    return changes[index] ? { kind: "change", id } : [];
  });
  const kpis = Object.keys(((await store.get("kpi", "latest"))?.value ?? NO_KPIS).values);
  const namedKpis = kpis.filter((kpi) => text.includes(kpi)).map((id) => ({ kind: "kpi", id }));
  return [...records, ...namedKpis];
}
