/** The memory of a change's verdict: one a change, stored when its outcome ends. */
import type { Outcome, OutcomeRecord } from "../../changes/rules/outcome.ts";
import type { Following } from "../follower.ts";
import { addMemory } from "../memory.ts";
import { verdictSentence } from "../memory_sentences.ts";
import { ringKey, seqAt } from "../ring.ts";
import type { State } from "./state.ts";

/** Memories of outcomes come after those of the entry itself. */
const AFTER_ENTRY = 100_000;

/** Remembers a verdict, and resolves with the memory's key; undefined where the change names no KPI. */
export async function rememberVerdict(on: Following<State>, outcome: Outcome, at: string): Promise<string | undefined> {
  if (outcome.kpi === null) return undefined;
  const text = verdictSentence(await on.change(outcome.change_id), outcome);
  const memory = { kind: "verdict", text, author: null, at, ref: outcome.change_id } as const;
  const sequence = seqAt(on.position) + AFTER_ENTRY;
  const memories = await addMemory(on.tx, "outcome_memories", on.state.memories, memory, sequence);
  on.state = { ...on.state, memories };
  return ringKey(memories.seq);
}

/** Forgets the memory of a change whose content is erased, because it names the change by that content. */
export async function forgetVerdict(on: Following<State>, changeId: string): Promise<void> {
  const record: OutcomeRecord | undefined = (await on.tx.get("outcomes", changeId))?.value;
  if (record?.memory === undefined || !(await on.tx.get("outcome_memories", record.memory))) return;
  on.tx.delete("outcome_memories", record.memory);
  const { memories } = on.state;
  on.state = { ...on.state, memories: { ...memories, count: memories.count - 1 } };
}
