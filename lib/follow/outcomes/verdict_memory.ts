/** The memory of verdicts: one a change, the newest. */
import type { Outcome, OutcomeRecord } from "../../governance/rules/outcome.ts";
import type { Following } from "../follower.ts";
import { addMemory } from "../memory.ts";
import { verdictTold } from "../memory_sentences.ts";
import { kpiKey } from "../outcome_places.ts";
import { ringKey, seqAt } from "../ring.ts";
import type { State } from "./state.ts";

const PAGE = 50;
/** What the memory of a verdict writes at most: itself and its place, and what it displaces. */
export const MEMORY_WRITES = 4;
/** Memories of outcomes stand behind those of the entry itself. */
const BEHIND = 100_000;

/** Remembers a verdict in place of the one before, so that a KPI that goes up and down does not fill memory with one change. */
export async function rememberVerdict(
  on: Following<State>,
  record: OutcomeRecord,
  outcome: Outcome,
  at: string,
): Promise<void> {
  const key = kpiKey(record);
  if (key === undefined) return;
  const place = (await on.tx.get("outcomes_by_kpi", key))!.value;
  if (place.told !== undefined && (await on.tx.get("outcome_memories", place.told))) drop(on, place.told);
  const text = verdictTold(await on.change(outcome.change_id), outcome);
  const memory = { kind: "verdict", text, author: null, at, ref: outcome.change_id } as const;
  const memories = await addMemory(on.tx, "outcome_memories", on.state.memories, memory, seqAt(on.position) + BEHIND);
  on.state = { ...on.state, memories };
  on.tx.put("outcomes_by_kpi", key, { ...place, told: ringKey(memories.seq) });
}

/** Forgets what was told of a change whose content is erased, for it names the change by that. */
export async function forget(on: Following<State>, changeId: string, step: string): Promise<string | void> {
  if (!(await on.tx.get("outcomes", changeId))) return undefined;
  for (let after = step; ;) {
    const page = await on.tx.list("outcome_memories", { after, limit: PAGE });
    for (const { id, value } of page) {
      if (value.ref === changeId) {
        if (!on.room(1)) return after;
        drop(on, id);
      }
      after = id;
    }
    if (page.length < PAGE) return undefined;
  }
}

/** Takes one memory out. */
function drop(on: Following<State>, id: string): void {
  on.tx.delete("outcome_memories", id);
  const { memories } = on.state;
  on.state = { ...on.state, memories: { ...memories, count: memories.count - 1 } };
}
