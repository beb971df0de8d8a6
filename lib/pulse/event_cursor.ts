/** How far a reader of the service's events has come: over audit entries, growth rows and ticks. */
import { type ChainHead, entryKey, readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { Store } from "../store/store.ts";
import { growthAfter, type GrowthRow, newestGrowth } from "../follow/growth_log.ts";

/** The last entry, row and tick that were seen. */
export interface EventCursor {
  audit: number;
  growth: number;
  tick: number;
}

/** One thing that happened, and the cursor after it. */
export type PulseEvent = { cursor: EventCursor } & (
  | { type: "audit"; data: AuditEntry }
  | { type: "growth"; data: GrowthRow }
  | { type: "tick"; data: { tick: number; at: string } }
);

/** `12.7.3`: entry 12, row 7, tick 3. */
export const cursorText = ({ audit, growth, tick }: EventCursor): string => `${audit}.${growth}.${tick}`;

/** Reads a cursor's text; undefined when it is none. */
export function parseCursor(text: string): EventCursor | undefined {
  const parts = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(text);
  return parts ? { audit: Number(parts[1]), growth: Number(parts[2]), tick: Number(parts[3]) } : undefined;
}

/** The cursor of a reader who has seen everything so far. */
export async function presentCursor(store: Pick<Store, "get">): Promise<EventCursor> {
  const [head, growth, tick] = await Promise.all([
    readHead(store) as Promise<ChainHead | undefined>,
    newestGrowth(store),
    store.get("meta", "tick"),
  ]);
  return { audit: head?.length ?? 0, growth, tick: tick?.value.tick ?? 0 };
}

/** A cursor of a longer log, as after a restore, would wait for what it has seen already: it goes on from the present. */
export const noLaterThan = (present: EventCursor, { audit, growth, tick }: EventCursor): EventCursor => ({
  audit: Math.min(audit, present.audit),
  growth: Math.min(growth, present.growth),
  tick: Math.min(tick, present.tick),
});

/**
 * The next events after a cursor, at most `limit`: entries, then rows, then the newest tick. Rows that are no longer kept
 * are passed over, and of several ticks only the newest is told: a tick carries nothing but its number.
 *
 * Only what was there before the pages are read is told: a page of a shared store may show one record of a transaction that
 * is just being made and not yet another before it, which the cursor would then pass by.
 */
export async function eventsAfter(store: Store, cursor: EventCursor, limit: number): Promise<PulseEvent[]> {
  const present = await presentCursor(store);
  let at = cursor;
  const events: PulseEvent[] = [];
  const more = Math.min(limit, present.audit - at.audit);
  const entries = more > 0 ? await store.list("audit", { after: entryKey(at.audit), limit: more }) : [];
  for (const { value } of entries) {
    at = { ...at, audit: value.id };
    events.push({ cursor: at, type: "audit", data: value });
  }
  const rows =
    events.length < limit && present.growth > at.growth
      ? await growthAfter(store, at.growth, limit - events.length)
      : [];
  for (const row of rows.filter(({ seq }) => seq <= present.growth)) {
    at = { ...at, growth: row.seq };
    events.push({ cursor: at, type: "growth", data: row });
  }
  if (events.length === limit || present.tick <= at.tick) return events;
  const newest = (await store.get("meta", "tick"))?.value;
  if (newest)
    events.push({ cursor: { ...at, tick: newest.tick }, type: "tick", data: { tick: newest.tick, at: newest.at } });
  return events;
}
