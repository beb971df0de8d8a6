/** The rows of the growth log that tell of outcomes. */
import type { Outcome } from "../../governance/rules/outcome.ts";
import { movementOf } from "../../governance/rules/outcome_words.ts";
import type { Following } from "../follower.ts";
import { addRow, type Notice, OUTCOME_KIND } from "../growth_row.ts";
import type { State } from "./state.ts";

/** What a row writes at most. */
export const ROW_WRITES = 2;

/** Tells of one outcome. */
export const tell = (on: Following<State>, outcome: Outcome, title: string, at: string, how = ""): Promise<void> =>
  addOutcomeRow(on, { at, title, detail: `${how}${movementOf(outcome)}`, ref: outcome.change_id });

/** Adds a row. */
export async function addOutcomeRow(on: Following<State>, row: Omit<Notice, "kind">): Promise<void> {
  const place = { position: on.position, tick: await on.tickAt(on.position) };
  const rows = await addRow(on.tx, "outcome_rows", on.state.rows, place, { kind: OUTCOME_KIND, ...row });
  on.state = { ...on.state, rows };
}
