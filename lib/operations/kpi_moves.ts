/** How the KPIs moved between two moments, and after which changes. */
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import type { FindRow } from "../find/answer.ts";
import { findRows } from "../find/run.ts";
import { computeEffect as effectE } from "../changes/rules/effect.ts";
import type { Intent } from "../changes/rules/intent.ts";
import { goodDirection, type KpiState, roundDelta } from "../changes/rules/kpi.ts";
import { nameEffect, describeDelta } from "../changes/rules/kpi_words.ts";
import type { OutcomeRecord } from "../changes/rules/outcome.ts";
import { DAY_MS } from "../kit/days.ts";
import type { OperationsDeps } from "./deps.ts";
import { share } from "./markdown.ts";

/** KPIs of a sentence, and changes of a KPI; the others are counted. */
const MAX_KPIS = 3;
const MAX_CHANGES = 2;
const MAX_ROWS = 500;
/** An apply counts as before a movement for as long as its outcome is open at most. */
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

/** The values by the last feeds before a moment. They are stored by UTC day: of the moment's own day only the last feed is known. */
export async function readKpisAt(deps: OperationsDeps, moment: string): Promise<Values> {
  const read = await readProjection(deps, outcomes);
  const [before] = await read.list("kpi_days", { after: moment.slice(0, 10), limit: 1, reverse: true });
  const own = Object.entries((await read.get("kpi_days", moment.slice(0, 10)))?.value.values ?? {});
  return { ...before?.value.values, ...Object.fromEntries(own.filter(([, { at }]) => at < moment)) };
}

/** The KPIs that moved, the largest movement in proportion first. */
export function computeMoves(before: Values, after: Values, intent: Pick<Intent, "kpis">): Move[] {
  const moves = Object.entries(after).flatMap(([kpi, { value: to, first }]) => {
    // A KPI without a value before moved from the first one that was fed.
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
      size: Math.abs(delta / from),
    };
  });
  return moves.sort((a, b) => b.size - a.size || (a.kpi < b.kpi ? -1 : 1));
}

/** Three sentences: on E, on the KPIs that got worse, and on those that got better, each with the changes it came after. */
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
  const reasons = (move: Move): string => {
    const earlier = applied.filter((_, index) => {
      const record = records[index]?.value;
      return (
        record && record.applied_at < to && Math.sign(movementSince(record, move)) === Math.sign(move.to - move.from)
      );
    });
    const naming = earlier.filter(({ kpi }) => kpi === move.kpi);
    const named = naming.length > 0 ? naming : earlier;
    if (named.length === 0) return ", with no change applied before it";
    const more = named.length - MAX_CHANGES;
    const links = named
      .slice(0, MAX_CHANGES)
      .map(linkTo)
      .join(more > 0 ? ", " : " and ");
    const note = naming.length > 0 ? "" : named.length === 1 ? ", which does not name it" : ", none of which names it";
    return `, after ${links}${more > 0 ? ` and ${more} more` : ""}${note}`;
  };
  const sentence = (head: string, effect: Move["effect"]): string => {
    const all = moves.filter((move) => move.effect === effect);
    if (all.length === 0) return `No KPI got ${effect}.`;
    const parts = all.slice(0, MAX_KPIS).map((move) => `${move.kpi} ${move.words} to ${move.to}${reasons(move)}`);
    const more = all.length - parts.length;
    return `${head} ${[...parts, ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`;
  };
  const isFed = Object.values(after).some(({ at }) => at >= from);
  const total = describeEffect(before, after, intent, now);
  if (!isFed) return [total, "No KPI was fed.", "None is known to have got better or worse."];
  return [total, sentence("**Worse:**", "worse"), sentence("Better:", "better")];
}

/** The movement of a KPI from the apply of a change to the end of its outcome, or to the value that is looked at. */
function movementSince({ kpi, baseline, others, final }: OutcomeRecord, move: Move): number {
  const isOwn = kpi === move.kpi;
  const from = isOwn ? baseline : (others[move.kpi] ?? null);
  if (from === null) return 0;
  if (!final) return move.to - from;
  const to = isOwn ? final.current : final.side_effects.find((one) => one.kpi === move.kpi)?.to;
  return (to ?? from) - from;
}

/** E before and after, by today's intent. */
function describeEffect(before: Values, after: Values, intent: Intent, now: number): string {
  const [was, is] = [before, after].map((values) => effectE({ values, last_at: null }, intent, now).value) as [
    number | null,
    number | null,
  ];
  if (is === null) return "There is no effect E yet: no KPI with a goal was fed.";
  if (was === null) return `The effect E is ${share(is)}; before this week there was none.`;
  if (share(was) === share(is)) return `The effect E stayed at ${share(is)}.`;
  return `${is < was ? "**Worse:** the effect E fell" : "Better: the effect E rose"} from ${share(was)} to ${share(is)}.`;
}
