/**
 * Simulation of agents under mandates: counts how often people must sign, and checks that each rollback, low KPI or contested value
 * suspends the mandate within one cycle. `npm run simulate:mandates` simulates thirty days of 1,000 changes each; the test
 * simulates one day of 48.
 */
import { expect, test } from "vitest";
import { type MonthFigures, simulateMonth } from "./mandates_month.ts";

const DAYS = Number(process.env["MANDATE_DAYS"] ?? 1);
const CHANGES = Number(process.env["MANDATE_CHANGES"] ?? 48);
const SEED = Number(process.env["MANDATE_SEED"] ?? 1);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function printFigures(mandated: MonthFigures, without: MonthFigures): void {
  const lines = [
    `proposals: ${mandated.proposed}, approved by a mandate: ${mandated.by_mandate}, applied: ${mandated.applied}`,
    `prompts a day: ${(sum(mandated.prompts) / DAYS).toFixed(1)} with mandates, ${(sum(without.prompts) / DAYS).toFixed(1)} without`,
    ...mandated.prompts.map((count, day) => `day ${day + 1}: ${count} prompts with, ${without.prompts[day]} without`),
    ...mandated.suspensions.map(
      ({ mandate_id, reason, cycles }) => `${mandate_id} suspended: ${reason}, after ${cycles} cycles`,
    ),
    `refused after a suspension: ${mandated.refused}; applied in spite of one: ${mandated.wrongly_applied.length}`,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

test("a rollback, a low KPI or a contested value suspends the mandate in one cycle", async () => {
  // `every`: days between losses of one kind; 0 is one of each kind on each day.
  const month = { days: DAYS, changes_a_day: CHANGES, seed: SEED, every: DAYS > 4 ? 5 : 0 };
  const mandated = await simulateMonth({ ...month, isMandated: true });
  const without = await simulateMonth({ ...month, isMandated: false });
  if (process.env["MANDATE_DAYS"]) printFigures(mandated, without);
  expect([mandated.late, mandated.wrongly_applied]).toEqual([[], []]);
  const reasons = new Set(mandated.suspensions.map(({ reason }) => reason));
  const rollbacks = ["rollback by policy:guardrail", "rollback by policy:stages"];
  expect([...reasons].sort()).toEqual(["contested", "kpi_floor", ...rollbacks]);
  expect(mandated.suspensions.every(({ cycles }) => cycles <= 1)).toBe(true);
  expect(mandated.refused).toBeGreaterThan(0);
  expect(without.proposed).toBe(mandated.proposed);
  // In a short run the signatures of the mandates themselves weigh more.
  expect(sum(mandated.prompts)).toBeLessThan(sum(without.prompts) / (DAYS > 4 ? 2 : 1));
}, 7_200_000);
