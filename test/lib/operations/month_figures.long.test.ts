/** E, M, R and N of the month, computed a second time from the ledger alone. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import { sharedMonth } from "../../support/month/month.ts";
import { type MonthFigures, computeFigures } from "../../support/month/figures.ts";

let figures: MonthFigures;
// oxlint-disable-next-line typescript/no-explicit-any -- the answer of the service
let state: any;
let month: Month;
beforeAll(async () => {
  month = await sharedMonth();
  figures = computeFigures(month.ledger, month.deps.clock.iso());
  state = (await month.get("/api/state")).body;
});

test("E is the weighted mean of the KPIs' attainment", () => expect(state.E).toBeCloseTo(figures.effect().value!, 12));

test("M is the share of expected items that are present", () => {
  const { value, from, closed, expected, present, gaps } = figures.memory();
  expect(state.dimensions.M).toMatchObject({ value, from, closed, expected, present });
  expect(state.dimensions.M.gaps).toMatchObject(
    gaps.map(({ change, missing }) => ({ change_id: month.idOf(change.name), missing })),
  );
});

test("R counts the attempts that failed", () => {
  const { value, from, n, failed, all } = figures.reliability();
  const count = (cause: string) => all.filter(({ causes }) => causes.includes(cause)).length;
  const causes = { adapter_failure: count("adapter"), rolled_back: count("rolled back"), drifted: count("drifted") };
  expect(state.dimensions.R).toMatchObject({ value, from, n, failed, causes });
});

test("N is computed from the weights of overdue items", () => {
  const { value, items } = figures.need();
  expect(state.N).toBe(value);
  expect(state.dimensions.N.items).toEqual(items.map(({ item, open, overdue }) => ({ item, open, overdue })));
});
