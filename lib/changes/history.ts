/** A change as its own entries tell it. */
import type { AuditEntry } from "../audit/entry.ts";
import { eventOf } from "./rules/event.ts";
import type { ChangeState } from "./rules/record.ts";
import { evolve } from "./rules/evolve.ts";

/** Folds entries; undefined where one is missing, is about another change than the first, or does not follow. */
export function foldOf(entries: readonly (AuditEntry | undefined)[]): ChangeState | undefined {
  let state: ChangeState | undefined;
  for (const entry of entries) if (!(state = entry && evolve(state, eventOf(entry)))) return undefined;
  return state;
}
