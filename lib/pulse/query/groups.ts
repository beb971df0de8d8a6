/** Counts of changes by what they have in common. */
import { sameName } from "../../governance/rules/names.ts";
import { weekOf } from "../../kit/days.ts";
import type { Beside, ChangeFilter } from "./filter.ts";
import { timesWithin } from "./matches.ts";
import { peopleOf, type Row } from "./row.ts";

/** What changes are counted by; the last three by the event of the period, or else by their proposals. */
export const DIMENSIONS = [
  "proposer",
  "approver",
  "denier",
  "decider",
  "tenant_id",
  "target",
  "kind",
  "status",
  "resolution",
  "risk",
  "tier",
  "kpi",
  "proposer_kind",
  "verdict",
  "day",
  "week",
  "month",
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** How many changes have this in common. A change with two approvers counts with each. */
export interface Group {
  key: string;
  count: number;
  /** The newest of them, five at most. */
  change_ids: string[];
}

const NAMED = 5;
const IN_TIME: readonly Dimension[] = ["day", "week", "month"];

/** Counts changes that were found; those that have nothing of the kind are not counted. */
export function grouped(rows: readonly Row[], by: Dimension, filter: ChangeFilter, beside: Beside): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows)
    for (const [place, key] of new Map(keysOf(row, by, filter, beside).map((key) => [placeOf(by, key), key]))) {
      const group = groups.get(place) ?? { key, count: 0, change_ids: [] };
      group.count++;
      if (group.change_ids.length < NAMED) group.change_ids.push(row.change_id);
      groups.set(place, group);
    }
  const all = [...groups.values()];
  const byKey = (a: Group, b: Group): number => (a.key < b.key ? -1 : 1);
  return IN_TIME.includes(by) ? all.sort(byKey) : all.sort((a, b) => b.count - a.count || byKey(a, b));
}

/** Names and targets are the same in another case. */
const placeOf = (by: Dimension, key: string): string =>
  by === "target"
    ? key.toLowerCase()
    : by === "proposer" || by === "approver" || by === "denier" || by === "decider"
      ? sameName(key)
      : key;

function keysOf(row: Row, by: Dimension, { period = { of: "proposed" }, person }: ChangeFilter, beside: Beside) {
  switch (by) {
    case "proposer":
    case "denier":
      return peopleOf(row, by);
    case "approver":
    case "decider":
      return peopleOf(row, by).filter((name) => period.of !== "consented" || timesWithin(row, period, name).length > 0);
    case "verdict":
      return presentIn(beside.outcomes.get(row.change_id)?.verdict);
    case "day":
    case "week":
    case "month":
      return timesWithin(row, period, person?.name).map((time) => spanOf(by, time));
    default:
      return presentIn(row[by]);
  }
}

const presentIn = (key: string | null | undefined): string[] => (key === null || key === undefined ? [] : [key]);

const spanOf = (by: "day" | "week" | "month", time: string): string =>
  by === "day" ? time.slice(0, 10) : by === "month" ? time.slice(0, 7) : weekOf(Date.parse(time)).name;
