/** Counts found rows by groups. */
import { normalizeName } from "../changes/rules/names.ts";
import { normalizeTarget } from "../changes/rules/target_key.ts";
import { isoWeek } from "../kit/days.ts";
import { localDay } from "./dates.ts";
import { type Context, type Field, FIELDS, type FieldName } from "./fields.ts";
import type { Query } from "./parse.ts";
import { type Event, type FoundRow, type Row, listTimes } from "./row.ts";

/** A group, and the number of its rows. */
export interface Group {
  key: string;
  count: number;
}
/** Groups by normalised key; the key of a group is the spelling that was found first. */
export type Counts = Map<string, Group>;

const PERIODS: readonly string[] = ["day", "week", "month"];
const EVENTS: readonly string[] = ["proposed", "decided", "applied", "rolledback"] satisfies Event[];

/** Adds rows to the counts. A row with two approvers counts in both groups; a row without a value counts in none. */
export function countGroups(counts: Counts, found: readonly FoundRow[], query: Query, context: Context): void {
  for (const { row } of found) {
    const keys = listKeys(row, query, context);
    const keysByGroup = new Map(keys.map((key) => [groupKey(query.group!, key), key]));
    for (const [normalizedKey, key] of keysByGroup) {
      const group = counts.get(normalizedKey) ?? { key, count: 0 };
      group.count++;
      counts.set(normalizedKey, group);
    }
  }
}

/** Sorts groups by size, largest first; days, weeks and months by time. */
export function sortGroups(counts: Counts, by: string): Group[] {
  const byKey = (a: Group, b: Group): number => (a.key < b.key ? -1 : 1);
  return [...counts.values()].sort(PERIODS.includes(by) ? byKey : (a, b) => b.count - a.count || byKey(a, b));
}

/** Normalises a key, so that spellings of one name or target are one group. */
function groupKey(by: string, key: string): string {
  if (by === "target") return normalizeTarget(key);
  return by === "proposer" || by === "approver" || by === "denied-by" ? normalizeName(key) : key;
}

function listKeys(row: Row, query: Query, context: Context): readonly string[] {
  const { group } = query;
  if (group === "status") return [row.change.status];
  if (PERIODS.includes(group!)) return listGroupTimes(row, query).map((time) => periodName(group!, time, context.zone));
  const field: Field = FIELDS[group as FieldName];
  return field.type === "number" || field.type === "is" ? [] : field.of(row, context);
}

/** Lists the moments by which a row is grouped: those of the event that the query filters by, or else sorts by, or else of the proposal. */
function listGroupTimes(row: Row, { terms, sort }: Query): string[] {
  const dateTerm = terms.find(({ field, negated }) => EVENTS.includes(field) && !negated);
  const sortedEvent = EVENTS.includes(sort?.by ?? "") ? sort!.by : undefined;
  const event = (dateTerm?.field ?? sortedEvent ?? "proposed") as Event;
  // Moments outside the requested period are left out.
  return listTimes(row, event).filter((time) => dateTerm?.holdsAt?.(Date.parse(time)) !== false);
}

function periodName(by: string, time: string, zone: string): string {
  const day = localDay(Date.parse(time), zone);
  if (by === "day") return day;
  return by === "month" ? day.slice(0, 7) : isoWeek(Date.parse(`${day}T00:00Z`)).name;
}
