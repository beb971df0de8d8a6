/** Lessons: what the closed changes have in common, for each dimension. Text for people; nothing reads it back. */
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { RECORD_ITEMS, recordOf } from "../../follow/record_keeping.ts";
import type { Change } from "../../governance/rules/change.ts";
import { VERDICTS } from "../../governance/rules/outcome.ts";
import type { PulseDeps } from "../deps.ts";
import type { Figures } from "../figures.ts";
import { code, list, page, share, table } from "../markdown.ts";
import { openItems } from "../reports.ts";
import type { Dimension } from "../tasks.ts";

const LOOKED_AT = 200;
const ROWS = 20;

/** What the changes applied last teach about each dimension. */
export async function lessonsOf(deps: PulseDeps, { values, need }: Figures): Promise<Record<Dimension, string>> {
  const read = await (await reading(deps, outcomes)).list("outcomes", { limit: LOOKED_AT, reverse: true });
  const ids = read.map(({ id }) => id);
  const applied = (await deps.store.getMany("changes", ids)).flatMap((stored, index) =>
    stored ? [{ change: stored.value.change, outcome: read[index]!.value.final }] : [],
  );
  const closed = applied.flatMap(({ change, outcome }) => (outcome ? [{ change, outcome }] : []));
  const records = closed.map(({ change, outcome }) => recordOf(change, outcome));
  const neglected = need.items.filter(({ overdue }) => overdue > 0);
  const lesson = (dimension: Dimension, name: string, ...blocks: (string | undefined)[]): string =>
    page(`# Lessons: ${name}`, `${dimension} is ${share(values[dimension])}.`, ...blocks);
  return {
    E: lesson(
      "E",
      "effect",
      table(
        ["target", ...VERDICTS],
        byTarget(closed).map(([target, group]) => [
          code(target),
          ...VERDICTS.map((verdict) => group.filter(({ outcome }) => outcome.verdict === verdict).length),
        ]),
      ) ?? "No outcome is final yet.",
      `Computed from the final outcomes among the last ${LOOKED_AT} applied changes.`,
    ),
    M: lesson(
      "M",
      "memory",
      table(
        ["on record", "expected", "missing"],
        RECORD_ITEMS.map((item) => [
          item,
          records.filter(({ expected }) => expected.includes(item)).length,
          records.filter(({ missing }) => missing.includes(item)).length,
        ]),
      ),
      `Computed from the closed ones among the last ${LOOKED_AT} applied changes.`,
    ),
    R: lesson(
      "R",
      "reliability",
      table(
        ["target", "applied", "rolled back"],
        byTarget(applied).map(([target, group]) => [
          code(target),
          group.length,
          group.filter(({ change }) => change.status === "rolled_back").length,
        ]),
      ) ?? "Nothing was applied yet.",
      `Computed from the last ${LOOKED_AT} applied changes.`,
    ),
    N: lesson(
      "N",
      "need",
      openItems(need) ?? "Nothing is open.",
      list(neglected.map(({ item, open, overdue }) => `${item}: ${overdue} of ${open} were not dealt with in time`)),
      "Computed from what is open now.",
    ),
  };
}

/** Targets with the most changes first. */
function byTarget<T extends { change: Change }>(applied: readonly T[]): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of applied) groups.set(one.change.target, [...(groups.get(one.change.target) ?? []), one]);
  return [...groups].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1)).slice(0, ROWS);
}
