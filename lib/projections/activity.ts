/** Projection of the activity that entries report, in rows for people. Bounded; it is not the audit log. */
import * as z from "zod";
import type { EventType } from "../audit/entry.ts";
import { once } from "../kit/once.ts";
import type { Tx } from "../store/store.ts";
import { describe, describeTrip } from "../wording/describe.ts";
import { capitalize, joinParts, showForeignText } from "../wording/part.ts";
import { appendRecord, type BufferState, firstSequence, sequenceKey } from "./buffer.ts";
import type { Entry } from "./entries.ts";
import { MAX_WRITES_PER_STEP, type Projection, type ProjectionContext } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    growth_rows: ActivityRow;
    growth_rows_kinds: true;
    outcome_rows: ActivityRow;
    notices: ActivityRow;
    notices_kinds: true;
  }
}

/** Rows stored for each source; the oldest are removed first. */
export const MAX_ROWS = 10_000;

/** A row; `ref` is the id of its record. Its number is a million times the entry of its position, plus an offset. */
export const activityRowSchema = once(() =>
  z
    .object({
      seq: z.number().int().describe("Its number; rises, with gaps."),
      at: z.string().meta({ description: "When it was noticed.", format: "date-time" }),
      tick: z.number().int().describe("The cycle in which it was noticed."),
      kind: z.string().meta({ description: "Kind of the observation.", examples: ["drift"] }),
      title: z.string().meta({
        description: "The observation in a sentence.",
        examples: ["“Raise the seat limit” (limits.seats): drifted"],
      }),
      detail: z.string().meta({ description: "More of it; may be empty.", examples: ["Outage of the mail provider."] }),
      ref: z.string().nullable().describe("Id of its record; null if none."),
    })
    .describe("An observation of the service, for people."),
);
export type ActivityRow = z.infer<ReturnType<typeof activityRowSchema>>;

/** A row before it has a number. */
export type Notice = Omit<ActivityRow, "seq" | "tick" | "ref"> & { ref?: string | null };

/** Sources of rows: entries, outcomes, and notices of anything else. Rows of one position have this order. */
export const ROW_SOURCES = ["growth_rows", "outcome_rows", "notices"] as const;
export type RowSource = (typeof ROW_SOURCES)[number];

/** Offset of each source's first row among the numbers of a position. */
const FIRST_OFFSETS: Readonly<Record<RowSource, number>> = { growth_rows: 0, outcome_rows: 100_000, notices: 900_000 };

/** The kind of all rows of outcomes; rows of the other sources are indexed by kind in `<source>_kinds`. */
export const OUTCOME_KIND = "outcome";

/** Returns the id of a row in the index by kind; no kind contains a line break. */
export const kindKey = (kind: string, seq: number): string => `${kind}\n${sequenceKey(seq)}`;

/** Returns the id of the entry that a row reports; undefined for a row of another source. */
export const findRowEntry = ({ seq }: Pick<ActivityRow, "seq">): number | undefined =>
  seq % firstSequence(1) < FIRST_OFFSETS.outcome_rows ? Math.floor(seq / firstSequence(1)) : undefined;

/** Adds a row at a position of the log, and resolves with the new state of its buffer. */
export async function addRow(
  tx: Tx,
  source: RowSource,
  buffer: BufferState | undefined,
  { position, tick }: { position: number; tick: number },
  notice: Notice,
): Promise<BufferState> {
  const createRow = (seq: number): ActivityRow => ({ ref: null, ...notice, seq, tick });
  const bounds = { maxCount: MAX_ROWS, minSequence: firstSequence(position) + FIRST_OFFSETS[source] };
  if (source === "outcome_rows") return appendRecord(tx, source, buffer, createRow, bounds);
  const newBuffer = await appendRecord(tx, source, buffer, createRow, {
    ...bounds,
    onRemove: ({ value: { kind, seq } }) => tx.delete(`${source}_kinds`, kindKey(kind, seq)),
  });
  tx.put(`${source}_kinds`, kindKey(notice.kind, newBuffer.seq), true);
  return newBuffer;
}

interface State {
  rows: BufferState;
}

export const activity: Projection<State> = {
  name: "growth",
  version: 2,
  collections: ["growth_rows", "growth_rows_kinds"],
  start: { rows: { seq: 0, count: 0 } },
  apply(context, entry, step) {
    const rows = createRows(entry);
    if (rows.length > 0) return addRows(context, entry, step, rows);
  },
};

type Row = Omit<Notice, "at">;

/** Adds the rows from the index `step` on; resolves with the index at which another transaction must continue. */
async function addRows(
  context: ProjectionContext<State>,
  entry: Entry,
  step: string,
  rows: readonly Row[],
): Promise<string | void> {
  for (let index = Number(step); index < rows.length; index++) {
    if (!context.hasRoom(MAX_WRITES_PER_STEP)) return String(index);
    const rowPosition = { position: entry.id, tick: await context.readTick(entry.id) };
    const notice = { at: entry.timestamp, ref: entry.change_id || null, ...rows[index]! };
    context.state = { rows: await addRow(context.tx, "growth_rows", context.state.rows, rowPosition, notice) };
  }
}

const MAX_CAUSE_LENGTH = 200;

const ROW_KINDS: Readonly<Partial<Record<EventType, string>>> = {
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

function getKind({ event_type, facts: { decision, review_hours } }: Entry): string | undefined {
  if (event_type !== "consent_decision") return ROW_KINDS[event_type];
  // Only the consent that completes an emergency states `review_hours`.
  if (review_hours !== undefined) return "emergency";
  return decision === "lapsed" || decision === "expired" ? `change_${decision}` : undefined;
}

/** Creates the rows of an entry. A title contains the id of the change, which a read replaces by its name. */
function createRows(entry: Entry): Row[] {
  if (entry.event_type === "kpi_refreshed") return (entry.facts.tripped ?? []).map(createTripRow);
  const kind = getKind(entry);
  if (kind === undefined) return [];
  const { event, reason, targetState } = describe(entry);
  const sentence = entry.change_id === "" ? capitalize(event) : [`${entry.change_id}: `, ...event];
  // A failure shows both its cause and the state of the host product.
  const cause = kind === "operation_failed" && reason !== undefined ? [": ", reason] : [];
  const title = joinParts([...sentence, ...cause], (part) => showForeignText(part, MAX_CAUSE_LENGTH));
  const note = typeof reason === "object" ? reason.text : reason;
  const isShown = note !== undefined && cause.length === 0;
  return [
    {
      kind,
      title,
      detail: isShown ? note : joinParts(capitalize(targetState.length > 0 ? [...targetState, "."] : [])),
    },
  ];
}

const createTripRow = (trip: NonNullable<Entry["facts"]["tripped"]>[number]): Row => ({
  kind: "guardrail",
  title: `${describeTrip(trip)} after ${trip.change_id}`,
  detail:
    trip.action === "rollback" ? "The intent orders its rollback in the next cycle." : "The intent orders an alert.",
  ref: trip.change_id,
});
