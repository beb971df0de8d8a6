/** Position of a reader in the service's events: audit entries, activity rows, notices and ticks. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { findNewestFixedRow, listStoredRows } from "../projections/activity_log.ts";
import type { ActivityRow } from "../projections/activity.ts";
import { firstSequence } from "../projections/buffer.ts";
import type { Store } from "../store/store.ts";

/** Numbers of the last entry, activity row (`growth`), notice and tick that were read. Notices have no entry, so they have their own order. */
export interface EventCursor {
  audit: number;
  growth: number;
  notice: number;
  tick: number;
}

/** An event, and the cursor after it. Activity rows and notices are both events of the type `growth`. */
export type StreamEvent = { cursor: EventCursor } & (
  | { type: "audit"; data: AuditEntry }
  | { type: "growth"; data: ActivityRow }
  | { type: "tick"; data: { tick: number; at: string } }
);

/** `12.12000000.11900000.3`: entry 12, row 12000000, notice 11900000, tick 3. */
export const cursorText = ({ audit, growth, notice, tick }: EventCursor): string =>
  `${audit}.${growth}.${notice}.${tick}`;

/** Parses a cursor's text; undefined for any other text. */
export function parseCursor(text: string): EventCursor | undefined {
  const parts = /^(\d{1,15})\.(\d{1,16})\.(\d{1,16})\.(\d{1,15})$/.exec(text);
  if (!parts) return undefined;
  const [audit, growth, notice, tick] = parts.slice(1).map(Number) as [number, number, number, number];
  return { audit, growth, notice, tick };
}

/** Reads the cursor after the newest events. */
export async function readPresentCursor(store: Store): Promise<EventCursor> {
  const [head, growth, notices, tick] = await Promise.all([
    readHead(store),
    findNewestFixedRow(store),
    store.get("meta", "notices"),
    store.get("meta", "tick"),
  ]);
  return { audit: head?.length ?? 0, growth, notice: notices?.value.seq ?? 0, tick: tick?.value.tick ?? 0 };
}

/**
 * Returns the cursor from which a reader continues. A cursor of a longer log, as after a restore, continues from the present end.
 * Rows that are being rebuilt count as read.
 */
export function resumeCursor(present: EventCursor, { audit, growth, notice, tick }: EventCursor): EventCursor {
  // The numbers of rows follow from those of their entries: a higher row belongs to a longer log.
  const isSameLog = audit <= present.audit && growth < firstSequence(present.audit + 1);
  return {
    audit: Math.min(audit, present.audit),
    growth: isSameLog ? growth : present.growth,
    notice: isSameLog ? Math.min(notice, present.notice) : present.notice,
    tick: Math.min(tick, present.tick),
  };
}

/**
 * Returns the next events after a cursor, at most `limit`: entries, then rows, then notices, then the newest tick. Removed rows are
 * skipped, and only the newest of several ticks is sent, since a tick has only its number.
 *
 * Only rows up to the present cursor are sent. A page of a shared store may show one record of a running transaction and not an
 * earlier one, which the cursor would then skip.
 */
export async function readEventsSince(store: Store, cursor: EventCursor, limit: number): Promise<StreamEvent[]> {
  const present = await readPresentCursor(store);
  let position = cursor;
  const events: StreamEvent[] = [];
  const remaining = (): number => limit - events.length;
  const entryCount = Math.min(limit, Math.max(0, present.audit - position.audit));
  for (const { id, value } of await store.list("audit", { after: entryKey(position.audit), limit: entryCount })) {
    // The id comes from the key: a wrong id in an edited entry would move the cursor past later entries.
    position = { ...position, audit: Number(id) };
    events.push({ cursor: position, type: "audit", data: value });
  }
  for (const part of ["growth", "notice"] as const) {
    if (present[part] <= position[part] || remaining() === 0) continue;
    for (const row of await listStoredRows(store, ROW_SOURCES[part], position[part], present[part], remaining())) {
      position = { ...position, [part]: row.seq };
      events.push({ cursor: position, type: "growth", data: row });
    }
  }
  const newest = remaining() > 0 && present.tick > position.tick ? (await store.get("meta", "tick"))?.value : undefined;
  if (newest) events.push({ cursor: { ...position, tick: newest.tick }, type: "tick", data: newest });
  return events;
}

const ROW_SOURCES = { growth: ["growth_rows", "outcome_rows"], notice: ["notices"] } as const;
