/** A change as its own entries tell it. */
import { entryKey } from "../audit/chain.ts";
import type { Reads } from "../store/store.ts";
import { eventOf } from "./rules/event.ts";
import type { ChangeState } from "./rules/record.ts";
import { evolve } from "./rules/state_machine.ts";

/** Folds entries; undefined where one is missing, is about another change than the first, or does not follow. */
export async function foldEntries(
  reads: Pick<Reads, "getMany">,
  audit: readonly number[],
): Promise<ChangeState | undefined> {
  let state: ChangeState | undefined;
  for (const entry of await reads.getMany("audit", audit.map(entryKey))) {
    state = entry && evolve(state, eventOf(entry.value));
    if (!state) return undefined;
  }
  return state;
}
