/** Describes how the KPIs moved between two moments, and after which changes. */
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import type { FindRow } from "../find/answer.ts";
import { findRows } from "../find/run.ts";
import { computeEffect } from "../changes/rules/effect.ts";
import type { Intent } from "../changes/rules/intent.ts";
import { goodDirection, type KpiState, roundDelta } from "../changes/rules/kpi.ts";
import { nameEffect, describeDelta } from "../changes/rules/kpi_words.ts";
import type { OutcomeRecord } from "../changes/rules/outcome.ts";
import { DAY_MS } from "../kit/days.ts";
import type { OperationsDeps } from "./deps.ts";
import { share } from "./markdown.ts";

/** KPIs that a sentence names, and changes that it names for a KPI; the others are counted. */
const MAX_KPIS = 3;
const MAX_CHANGES = 2;
const MAX_ROWS = 500;
/** Longest time that an outcome is open; earlier applies are not named for a movement. */
const OPEN_MS = 7 * DAY_MS;

type Values = KpiState["values"];

/** The movement of one KPI. */
interface Move {
  kpi: string;
  from: number;
  to: number;
  effect: "better" | "worse";
  /** `rose by 0.3 (better)` */
  words: string;
}

/** Reads the values before a moment. They are stored by UTC day, so of the moment's day only the last feed is known. */
export async function readKpisAt(deps: OperationsDeps, moment: string): Promise<Values> {
  const read = await readProjection(deps, outcomes);
  const [before] = await read.list("kpi_days", { after: moment.slice(0, 10), limit: 1, reverse: true });
  const sameDay = Object.entries((await read.get("kpi_days", moment.slice(0, 10)))?.value.values ?? {});
  return { ...before?.value.values, ...Object.fromEntries(sameDay.filter(([, { at }]) => at < moment)) };
}

/** Lists the KPIs that moved, the largest relative movement first. */
export function computeMoves(before: Values, after: Values, intent: Pick<Intent, "kpis">): Move[] {
  const moves = Object.entries(after).flatMap(([kpi, { value: to, first }]) => {
    // A KPI that was not fed before moved from its first value.
    const from = before[kpi]?.value ?? first;
    const delta = roundDelta(to - from);
    if (delta === 0) return [];
    const good = goodDirection(kpi, intent);
    return {
      kpi,
      from,
      to,
      effect: nameEffect(delta, good),
      words: describeDelta(delta, good),
      // A movement from 0 is infinite, so it is among the largest.
      size: Math.abs(delta / from),
    };
  });
  return moves.sort((a, b) => b.size - a.size || (a.kpi < b.kpi ? -1 : 1));
}

/**
 * Writes three sentences for the weekly report: on E, on the KPIs that got worse, and on those that got better, with the changes
 * applied before.
 */
export async function describeMoves(
  { deps, intent, from, to, now }: { deps: OperationsDeps; intent: Intent; from: string; to: string; now: number },
  linkTo: (row: FindRow) => string,
): Promise<string[]> {
  const [before, after] = await Promise.all([readKpisAt(deps, from), readKpisAt(deps, to)]);
  const moves = computeMoves(before, after, intent);
  const since = new Date(Date.parse(from) - OPEN_MS).toISOString();
  const applied = await findRows(deps, `applied:${since}..${to} sort:applied`, { zone: "UTC", limit: MAX_ROWS });
  const ids = applied.map(({ change_id }) => change_id);
  const records = await readProjection(deps, outcomes).then((read) => read.getMany("outcomes", ids));
  const describeCauses = (move: Move): string => {
    // A change is named if the KPI moved the same way since its apply; if some state this KPI, only these.
    const earlier = applied.filter((_, index) => {
      const record = records[index]?.value;
      return (
        record &&
        record.applied_at < to &&
        Math.sign(computeMovementSince(record, move)) === Math.sign(move.to - move.from)
      );
    });
    const onThisKpi = earlier.filter(({ kpi }) => kpi === move.kpi);
    const candidates = onThisKpi.length > 0 ? onThisKpi : earlier;
    if (candidates.length === 0) return ", with no change applied before it";
    const more = candidates.length - MAX_CHANGES;
    const links = candidates
      .slice(0, MAX_CHANGES)
      .map(linkTo)
      .join(more > 0 ? ", " : " and ");
    const unrelatedNote = candidates.length === 1 ? ", which does not name it" : ", none of which names it";
    const note = onThisKpi.length > 0 ? "" : unrelatedNote;
    return `, after ${links}${more > 0 ? ` and ${more} more` : ""}${note}`;
  };
  const describeAll = (head: string, effect: Move["effect"]): string => {
    const all = moves.filter((move) => move.effect === effect);
    if (all.length === 0) return `No KPI got ${effect}.`;
    const parts = all
      .slice(0, MAX_KPIS)
      .map((move) => `${move.kpi} ${move.words} to ${move.to}${describeCauses(move)}`);
    const more = all.length - parts.length;
    return `${head} ${[...parts, ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`;
  };
  const isFed = Object.values(after).some(({ at }) => at >= from);
  const total = describeEffect(before, after, intent, now);
  if (!isFed) return [total, "No KPI was fed.", "None is known to have got better or worse."];
  return [total, describeAll("**Worse:**", "worse"), describeAll("Better:", "better")];
}

/** Returns the movement of a KPI from the apply of a change to the end of its outcome, or, while open, to the move's end. */
function computeMovementSince({ kpi, baseline, others, final }: OutcomeRecord, move: Move): number {
  const isOwn = kpi === move.kpi;
  const from = isOwn ? baseline : (others[move.kpi] ?? null);
  if (from === null) return 0;
  if (!final) return move.to - from;
  const to = isOwn ? final.current : final.side_effects.find((effect) => effect.kpi === move.kpi)?.to;
  return (to ?? from) - from;
}

/** Describes E before and after, by the current intent. */
function describeEffect(before: Values, after: Values, intent: Intent, now: number): string {
  const [earlier, current] = [before, after].map(
    (values) => computeEffect({ values, last_at: null }, intent, now).value,
  ) as [number | null, number | null];
  if (current === null) return "There is no effect E yet: no KPI with a goal was fed.";
  if (earlier === null) return `The effect E is ${share(current)}; before this week there was none.`;
  if (share(earlier) === share(current)) return `The effect E stayed at ${share(current)}.`;
  return `${current < earlier ? "**Worse:** the effect E fell" : "Better: the effect E rose"} from ${share(earlier)} to ${share(current)}.`;
}
