/** Whether a change is one that a query asks for. */
import { isOneOf } from "../../governance/rules/names.ts";
import { matchesPattern } from "../../governance/rules/target_pattern.ts";
import type { Beside, ChangeFilter } from "./filter.ts";
import { type Event, peopleOf, type Row, timesOf } from "./row.ts";

type Asked<T> = T | readonly T[] | undefined;

/** Whether a change fits. Without `outcomes` its verdict is not asked. */
export function matches(
  row: Row,
  filter: ChangeFilter,
  { drift, outcomes }: Pick<Beside, "drift"> & Partial<Pick<Beside, "outcomes">>,
): boolean {
  const { person, target, drifted, emergency, text, period } = filter;
  return (
    isAmong(row.change_id, filter.change_id) &&
    isAmong(row.tenant_id, filter.tenant_id) &&
    isAmong(row.status, filter.status) &&
    isAmong(row.resolution, filter.resolution) &&
    isAmong(row.proposer_kind ?? null, filter.proposer_kind) &&
    isAmong(row.risk, filter.risk) &&
    isAmong(row.tier, filter.tier) &&
    isAmong(row.kind, filter.kind) &&
    isAmong(row.kpi, filter.kpi) &&
    (target === undefined || [target].flat().some((pattern) => matchesPattern(row.target, pattern))) &&
    (person === undefined || peopleOf(row, person.as).some((name) => isOneOf(name, person.name))) &&
    (emergency === undefined || row.approvals.some((one) => one.emergency === true) === emergency) &&
    (filter.reversible === undefined || row.reversible === filter.reversible) &&
    (filter.reasoned === undefined || (row.rationale !== "") === filter.reasoned) &&
    isWithin(row.affected_users, filter.affected_users) &&
    (drifted === undefined || drift.has(row.change_id) === drifted) &&
    (period === undefined || timesWithin(row, period, person?.name).length > 0) &&
    (text === undefined || holdsWords(row, text)) &&
    (outcomes === undefined || isAmong(outcomes.get(row.change_id)?.verdict ?? null, filter.verdict))
  );
}

/** When an event happened to a change within a period; a consent is meant as that of the person, where one is named. */
export const timesWithin = (
  row: Row,
  { of, from = "", to }: { of: Event; from?: string | undefined; to?: string | undefined },
  by?: string | readonly string[],
): string[] => timesOf(row, of, by).filter((time) => time >= from && (to === undefined || time < to));

const isAmong = <T>(value: T | null, asked: Asked<T>): boolean =>
  asked === undefined || (Array.isArray(asked) ? asked.includes(value) : asked === value);

const isWithin = (value: number | null, asked: ChangeFilter["affected_users"]): boolean =>
  asked === undefined || (value !== null && value >= (asked.from ?? 0) && value <= (asked.to ?? Infinity));

/**
 * Words are held by their beginnings, so that `seat` finds seats; a number whole, and what is written without spaces anywhere.
 * An id is found whole and not by its parts; what holds no word is held by nothing.
 */
function holdsWords(row: Row, text: string): boolean {
  if (row.change_id === text.trim()) return true;
  const wanted = wordsOf(text);
  if (wanted === "") return false;
  const held = textOf(row);
  return wanted.split(" ").every((word) => held.includes(soughtAs(word)));
}

/** What rows are searched in, made once for as long as they are looked at. */
const texts = new WeakMap<Row, string>();

function textOf(row: Row): string {
  let text = texts.get(row);
  if (text === undefined) texts.set(row, (text = ` ${wordsOf(`${row.summary} ${row.rationale} ${row.target}`)} `));
  return text;
}

const soughtAs = (word: string): string =>
  /\p{Script=Han}/u.test(word) ? word : /^\p{N}+$/u.test(word) ? ` ${word} ` : ` ${word}`;

const wordsOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
