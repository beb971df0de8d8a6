/** Lessons: what the closed changes have in common, for each dimension. Text for people; nothing reads it back. */
import type { PulseDeps } from "../deps.ts";
import type { Outcome } from "../../governance/rules/outcome.ts";
import type { Change } from "../../governance/rules/change.ts";
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import type { Figures } from "../figures.ts";
import { code, list, page, share, table } from "../reports/markdown.ts";
import { RECORD_ITEMS, recordOf } from "../../follow/record_keeping.ts";
import type { Dimension } from "../tasks.ts";

const LOOKED_AT = 200;
const ROWS = 20;

/** What closed changes teach about one dimension. */
export function lessonsOf(deps: PulseDeps, dimension: Dimension, figures: Figures): Promise<string> {
  return { E: effectLessons, M: memoryLessons, R: reliabilityLessons, N: needLessons }[dimension](deps, figures);
}

interface Applied {
  target: string;
  outcome: Outcome | null;
  change: Change;
}

/** The changes applied last. */
async function lastApplied(deps: PulseDeps): Promise<Applied[]> {
  const applied = await (await reading(deps, outcomes)).list("outcomes", { limit: LOOKED_AT, reverse: true });
  const records = await deps.store.getMany(
    "changes",
    applied.map(({ id }) => id),
  );
  return records.flatMap((stored, index) => {
    if (!stored) return [];
    const { change } = stored.value;
    return [{ target: change.target, outcome: applied[index]!.value.final, change }];
  });
}

async function effectLessons(deps: PulseDeps, { effect }: Figures): Promise<string> {
  const judged = (await lastApplied(deps)).filter(({ outcome }) => outcome);
  const verdicts = (group: Applied[]) =>
    (["met", "missed", "regressed", "inconclusive"] as const).map(
      (verdict) => group.filter(({ outcome }) => outcome!.verdict === verdict).length,
    );
  const rows = byTarget(judged).map(([target, group]) => [code(target), ...verdicts(group)]);
  return page(
    "# Lessons: effect",
    `E is ${share(effect.value)}.`,
    table(["target", "met", "missed", "regressed", "inconclusive"], rows) ?? "No outcome is final yet.",
    `Computed from the final outcomes among the last ${LOOKED_AT} applied changes.`,
  );
}

async function memoryLessons(deps: PulseDeps, { memory }: Figures): Promise<string> {
  const closed = (await lastApplied(deps)).filter(({ outcome }) => outcome);
  const rows = RECORD_ITEMS.map((item) => {
    const asked = closed.filter(({ change, outcome }) => recordOf(change, outcome).expected.includes(item));
    const lacking = asked.filter(({ change, outcome }) => recordOf(change, outcome).missing.includes(item));
    return [item, asked.length, lacking.length];
  });
  return page(
    "# Lessons: memory",
    `M is ${share(memory.value)}.`,
    table(["on record", "expected", "missing"], rows),
    `Computed from the closed ones among the last ${LOOKED_AT} applied changes.`,
  );
}

async function reliabilityLessons(deps: PulseDeps, { reliability }: Figures): Promise<string> {
  const rows = byTarget(await lastApplied(deps)).map(([target, group]) => [
    code(target),
    group.length,
    group.filter(({ change }) => change.status === "rolled_back").length,
  ]);
  return page(
    "# Lessons: reliability",
    `R is ${share(reliability.value)}.`,
    table(["target", "applied", "rolled back"], rows) ?? "Nothing was applied yet.",
    `Computed from the last ${LOOKED_AT} applied changes.`,
  );
}

async function needLessons(_deps: PulseDeps, { need }: Figures): Promise<string> {
  return page(
    "# Lessons: need",
    `N is ${share(need.value)}.`,
    table(
      ["item", "open", "overdue"],
      need.items.map(({ item, open, overdue }) => [item, open, overdue]),
    ) ?? "Nothing is open.",
    list(
      need.items
        .filter(({ overdue }) => overdue > 0)
        .map(({ item, open, overdue }) => `${item}: ${overdue} of ${open} were not dealt with in time`),
    ),
    "Computed from what is open now.",
  );
}

/** Targets with the most changes first. */
function byTarget(applied: readonly Applied[]): [string, Applied[]][] {
  const groups = new Map<string, Applied[]>();
  for (const one of applied) groups.set(one.target, [...(groups.get(one.target) ?? []), one]);
  return [...groups].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1)).slice(0, ROWS);
}
