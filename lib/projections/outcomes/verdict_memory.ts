/** The memory of a verdict: one for each change, stored when its outcome ends. */
import type { Outcome, OutcomeRecord, OutcomeVerdict } from "../../changes/rules/outcome.ts";
import { describeMovement } from "../../changes/rules/outcome_words.ts";
import { nameChange } from "../../wording/names.ts";
import { joinParts } from "../../wording/part.ts";
import type { ProjectedChange, ProjectionContext } from "../projection.ts";
import { addMemory } from "../memory.ts";
import { sequenceKey, firstSequence } from "../buffer.ts";
import type { State } from "./state.ts";

/** Offset of verdicts in the sequence numbers of an entry, whose own memories come first. */
const AFTER_ENTRY = 100_000;

/** Remembers a verdict, and resolves with the memory's key; undefined if the change names no KPI. */
export async function rememberVerdict(
  context: ProjectionContext<State>,
  outcome: Outcome,
  at: string,
): Promise<string | undefined> {
  if (outcome.kpi === null) return undefined;
  const text = describeVerdict(await context.readChange(outcome.change_id), outcome);
  const memory = { kind: "verdict", text, author: null, at, ref: outcome.change_id } as const;
  const sequence = firstSequence(context.position) + AFTER_ENTRY;
  const memories = await addMemory(context.tx, "outcome_memories", context.state.memories, memory, sequence);
  context.state = { ...context.state, memories };
  return sequenceKey(memories.seq);
}

/** Forgets the memory of a change whose content is erased, because it names the change by that content. */
export async function forgetVerdict(context: ProjectionContext<State>, changeId: string): Promise<void> {
  const record: OutcomeRecord | undefined = (await context.tx.get("outcomes", changeId))?.value;
  // The memory may have been removed already, since only the newest memories are stored.
  if (record?.memory === undefined || !(await context.tx.get("outcome_memories", record.memory))) return;
  context.tx.delete("outcome_memories", record.memory);
  const { memories } = context.state;
  context.state = { ...context.state, memories: { ...memories, count: memories.count - 1 } };
}

const VERDICT: Readonly<Record<OutcomeVerdict, string>> = {
  met: "met its promise",
  missed: "missed its promise",
  regressed: "regressed, its KPI got worse",
  inconclusive: "inconclusive",
  too_early: "ended too early to judge",
};

/** Describes the final verdict on a change in a sentence. */
const describeVerdict = (change: ProjectedChange, outcome: Outcome): string =>
  `${joinParts(nameChange(change))}: ${VERDICT[outcome.verdict]}, the final verdict; ${describeMovement(outcome)}`;
