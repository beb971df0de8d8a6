/** Each line of the lessons is reckoned anew from the ledger, and each figure is that of the state at the same moment. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../../support/month/acts.ts";
import { monthToRead } from "../../../support/month/month.ts";
import { type ReckonedOutcome, type Reckoning, reckonAt } from "../../../support/month/reckoning.ts";
import { cells, fixed, items, namedIn, nothingElse, tablesOf } from "../../../support/month/report_lines.ts";

let month: Month;
let now: Reckoning;
// oxlint-disable-next-line typescript/no-explicit-any -- whatever the service answered
let state: any;
beforeAll(async () => {
  month = await monthToRead();
  await month.run("write_report");
  now = reckonAt(month.ledger, month.deps.clock.iso());
  state = (await month.get("/api/state")).body;
});

const linesOf = (dimension: string, title: string): string[] => {
  const lines = month.files.texts
    .get(`lessons-${dimension}.md`)!
    .split("\n")
    .filter((line) => line !== "");
  expect(lines.shift()).toBe(`# Lessons: ${title}`);
  return lines;
};

test("E: its KPIs, and the verdicts on everything that was applied for one", () => {
  const lines = linesOf("E", "effect");
  const { value, parts } = now.effect();
  expect(state.E).toBeCloseTo(value!, 12);
  nothingElse(
    lines,
    `E is ${fixed(value)}: the weighted mean of how far each KPI is on its way.`,
    "What changes on a target promised, and what came of it so far:",
    "Promised against realised, of final outcomes whose movement no other change shares:",
    /^Computed from /,
  );
  const [kpis, verdicts, calibration] = tablesOf(lines);
  expect(kpis).toEqual(
    parts.map(({ kpi, value: current, weight, attainment }) => [
      kpi,
      String(current),
      String(weight),
      fixed(attainment),
    ]),
  );
  const order = ["met", "missed", "regressed", "inconclusive", "too_early"];
  const judged = now.known.flatMap(({ name, target, kpi }) => {
    const outcome = now.outcomeOf(name);
    return outcome && kpi !== null
      ? [[target, ...order.map((verdict) => (outcome.verdict === verdict ? "1" : "0"))]]
      : [];
  });
  expect(verdicts).toEqual(judged.sort());
  expect(calibration!.toSorted()).toEqual(calibrated().sort());
});

/** Final outcomes by KPI and group; what is shared is counted apart. */
function calibrated(): string[][] {
  const groups = new Map<string, { kpi: string; of: string; told: ReckonedOutcome[] }>();
  for (const { name, kpi, kind, proposer } of now.known) {
    const outcome = now.outcomeOf(name);
    if (!outcome || outcome.state === "open" || kpi === null || !/^(met|missed|regressed)$/.test(outcome.verdict))
      continue;
    const sort = proposer.startsWith("agent:") ? "agent" : proposer.startsWith("llm:") ? "model" : "person";
    for (const of of [kind, sort, proposer]) {
      const { told } = groups.get(`${kpi} ${of}`) ?? { told: [] };
      groups.set(`${kpi} ${of}`, { kpi, of, told: [...told, outcome] });
    }
  }
  return [...groups.values()].map(({ kpi, of, told }) => {
    const own = told.filter(({ shared }) => shared.length === 0);
    const count = (verdict: string) => own.filter((one) => one.verdict === verdict).length;
    const mean = (values: (number | null)[]) =>
      own.length === 0
        ? "–"
        : Number((values.reduce<number>((sum, value) => sum + value!, 0) / own.length).toPrecision(12));
    return [
      ...[kpi, of, own.length, count("met"), count("missed"), count("regressed")],
      ...[
        mean(own.map(({ expected }) => expected)),
        mean(own.map(({ realised }) => realised)),
        told.length - own.length,
      ],
    ].map(String);
  });
}

test("M: what is missing on the record of whatever was closed", () => {
  const lines = linesOf("M", "memory");
  const { value, from, closed, expected, present, lacking, gaps } = now.memory();
  expect(state.dimensions.M).toMatchObject({ value, from, closed, expected, present });
  nothingElse(
    lines,
    `M is ${fixed(value)}: of ${expected} things that should be on record of ${closed} changes closed from ${from} to 2026-11-16, ${present} are.`,
    "The newest gaps:",
    /^Computed from /,
  );
  expect(cells(lines)).toEqual(
    ["rationale", "decider", "note", "verdict"].map((item) => [
      item,
      String(lacking.filter((one) => one === item).length),
    ]),
  );
  const told = items(lines).map((line) => {
    const { change, rest } = namedIn(month, line);
    return `${change.name}${rest}`;
  });
  expect(told).toEqual(gaps.map(({ change, missing }) => `${change.name} lacks ${missing.join(", ")}`));
});

test("R: the attempts of its days, by cause and by target", () => {
  const lines = linesOf("R", "reliability");
  const { value, from, n, failed, all } = now.reliability();
  expect(state.dimensions.R).toMatchObject({ value, from, n, failed });
  const [low, high] = wilson(n - failed, n);
  nothingElse(
    lines,
    `R is ${fixed(value)} (95 % interval ${fixed(low)} to ${fixed(high)}): of ${n} applies attempted from ${from} to 2026-11-16, ${failed} failed.`,
    /^Computed from /,
  );
  const [causes, targets] = tablesOf(lines);
  const of = (cause: string, some = all) => String(some.filter((one) => one.causes.includes(cause)).length);
  expect(causes).toEqual([
    ["failed in the adapter", of("adapter")],
    ["rolled back", of("rolled back")],
    ["drifted", of("drifted")],
  ]);
  const byTarget = [...new Set(all.map(({ change }) => change.target))].map((target) => {
    const some = all.filter(({ change }) => change.target === target);
    const lost = some.filter((one) => one.failed).length;
    const counts = [
      String(some.length),
      String(lost),
      of("adapter", some),
      of("rolled back", some),
      of("drifted", some),
    ];
    return [target, ...counts];
  });
  expect(targets!.toSorted()).toEqual(byTarget.sort());
});

test("N: what is open and overdue, and what ended by time", () => {
  const lines = linesOf("N", "need");
  expect(state.N).toBe(now.need().value);
  const lost = now.known.filter(({ name }) => now.actOf(name, "expired", "lapsed"));
  nothingElse(
    lines,
    `N is ${fixed(now.need().value)}.`,
    `Nobody decided in time, or applied in time, from 2026-08-19 to 2026-11-16: ${lost.length}.`,
    /^Computed from /,
  );
  expect(cells(lines)).toEqual(
    now.need().items.map(({ item, open, overdue }) => [item, String(open), String(overdue)]),
  );
  const told = items(lines).map((line) => {
    const { change, rest } = namedIn(month, line);
    return `${change.name}${rest}`;
  });
  expect(told.sort()).toEqual(lost.map(({ name }) => `${name} ${now.actOf(name, "expired", "lapsed")!.did}`).sort());
});

/** The bounds at which a share would be 1.96 standard errors from what was seen. */
function wilson(successes: number, n: number): [number, number] {
  const z = 1.959963984540054;
  const seen = successes / n;
  const roots = [-1, 1].map(
    (sign) => (2 * n * seen + z * z + sign * z * Math.sqrt(z * z + 4 * n * seen * (1 - seen))) / (2 * (n + z * z)),
  );
  return roots as [number, number];
}
