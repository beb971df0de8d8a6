/** The rows of the growth log that come of entries. */
import type { EventType } from "../audit/entry.ts";
import { describe, describeTrip } from "../wording/describe.ts";
import { capitalize, joinParts, showGiven } from "../wording/part.ts";
import type { Entry } from "./entries.ts";
import { type Follower, type Following, MOST_A_STEP } from "./follower.ts";
import { addRow, type Notice } from "./growth_row.ts";
import type { Ring } from "./ring.ts";

interface State {
  rows: Ring;
}

export const growth: Follower<State> = {
  name: "growth",
  version: 2,
  collections: ["growth_rows", "growth_rows_kinds"],
  start: { rows: { seq: 0, count: 0 } },
  follow(on, entry, step) {
    const rows = rowsOf(entry);
    if (rows.length > 0) return addRows(on, entry, step, rows);
  },
};

async function addRows(on: Following<State>, entry: Entry, step: string, rows: Row[]): Promise<string | void> {
  for (let index = Number(step); index < rows.length; index++) {
    if (!on.room(MOST_A_STEP)) return String(index);
    const place = { position: entry.id, tick: await on.tickAt(entry.id) };
    const notice = { at: entry.timestamp, ref: entry.change_id || null, ...rows[index]! };
    on.state = { rows: await addRow(on.tx, "growth_rows", on.state.rows, place, notice) };
  }
}

const MAX_CAUSE = 200;

type Row = Omit<Notice, "at">;

const KINDS: Readonly<Partial<Record<EventType, string>>> = {
  change_rolled_back: "rolled_back",
  change_apply_failed: "operation_failed",
  change_rollback_failed: "operation_failed",
  change_drifted: "drift",
  emergency_reviewed: "emergency",
  note_added: "late_note",
  service_frozen: "freeze",
  service_unfrozen: "freeze",
  clock_accepted: "clock",
  loss_accepted: "loss",
  proposal_refused: "proposal_refused",
};

function kindOf({ event_type, facts: { decision, review_hours } }: Entry): string | undefined {
  if (event_type !== "consent_decision") return KINDS[event_type];
  if (review_hours !== undefined) return "emergency";
  return decision === "lapsed" || decision === "expired" ? `change_${decision}` : undefined;
}

/** The rows of an entry; a title has the id of its change, which is named when it is read. */
function rowsOf(entry: Entry): Row[] {
  if (entry.event_type === "kpi_refreshed") return (entry.facts.tripped ?? []).map(tripRow);
  const kind = kindOf(entry);
  if (kind === undefined) return [];
  const { what, reason, host } = describe(entry);
  const sentence = entry.change_id === "" ? capitalize(what) : [`${entry.change_id}: `, ...what];
  // A failure shows both its cause and the state of the host product.
  const cause = kind === "operation_failed" && reason !== undefined ? [": ", reason] : [];
  const title = joinParts([...sentence, ...cause], (part) => showGiven(part, MAX_CAUSE));
  const note = typeof reason === "object" ? reason.given : reason;
  const isShown = note !== undefined && cause.length === 0;
  return [{ kind, title, detail: isShown ? note : joinParts(capitalize(host.length > 0 ? [...host, "."] : [])) }];
}

const tripRow = (trip: NonNullable<Entry["facts"]["tripped"]>[number]): Row => ({
  kind: "guardrail",
  title: `${describeTrip(trip)} after ${trip.change_id}`,
  detail:
    trip.action === "rollback" ? "The intent orders its rollback in the next cycle." : "The intent orders an alert.",
  ref: trip.change_id,
});
