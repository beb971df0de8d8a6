/** Outcomes, compared with a second implementation that computes each from all entries, without an index. */
import { describe, expect, test } from "vitest";
import { parseEntry, type Entry } from "../../../lib/projections/entries.ts";
import { projectAll } from "../../../lib/projections/projector.ts";
import { readActivityPage } from "../../../lib/projections/activity_log.ts";
import { measureOutcomes } from "../../../lib/projections/outcomes/measure.ts";
import { countVerdicts, outcomes } from "../../../lib/projections/outcomes.ts";
import { readProjection } from "../../../lib/projections/snapshot.ts";
import type { Outcome } from "../../../lib/changes/rules/outcome.ts";
import { DAY, HOUR, pass } from "../../support/clock.ts";
import { selectCases } from "../../support/run_length.ts";
import { createTestLog, type TestLog } from "./test_log.ts";
import { runRandomHistory } from "./random_log.ts";

const KPIS = { kpis: {} };
const ms = (at: string): number => Date.parse(at);

async function readOutcomes(log: TestLog): Promise<Outcome[]> {
  const read = await readProjection(log, outcomes);
  const records = (await read.list("outcomes", { limit: 10_000 })).map(({ value }) => value);
  return measureOutcomes(read, records, KPIS, log.clock.iso());
}

/** Computes the expected outcome of each applied change at the time of the log's clock. */
async function computeOutcomes(log: TestLog): Promise<Record<string, Partial<Outcome>>> {
  const entries = (await log.store.list("audit", { limit: 10_000 })).map(({ value }) => parseEntry(value));
  const now = ms(log.clock.iso());
  const applies = entries.filter(({ event_type }) => event_type === "change_applied");
  const describeApply = async ({ change_id, id, timestamp }: Entry) => {
    const { kpi, expected_delta_k: expected, target, tenant_id } = (await log.readChangeRecord(change_id)).change;
    const rolledBack = entries.find(
      (entry) => entry.event_type === "change_rolled_back" && entry.change_id === change_id,
    );
    const appliedChanges = await Promise.all(
      applies.map(async (entry) => ({ entry, change: (await log.readChangeRecord(entry.change_id)).change })),
    );
    const replaced = appliedChanges.find(
      ({ entry, change }) => entry.id > id && change.target === target && change.tenant_id === tenant_id,
    )?.entry;
    const endEntry = [rolledBack, replaced].flatMap((entry) => entry ?? []).sort((a, b) => a.id - b.id)[0];
    const horizon = ms(timestamp) + 7 * DAY;
    const endedAtOrNow = endEntry ? ms(endEntry.timestamp) : now;
    const endsAtHorizon = endedAtOrNow > horizon;
    return {
      change_id,
      kpi,
      expected,
      id,
      from: ms(timestamp),
      to: endsAtHorizon ? horizon : endedAtOrNow,
      endEntry,
      endsAtHorizon,
    };
  };
  const all = await Promise.all(applies.map(describeApply));
  const feeds = (kpi: string | null, test: (entry: Entry) => boolean): { value: number; at: number }[] =>
    entries.flatMap((entry) => {
      const value = entry.event_type === "kpi_refreshed" ? entry.facts.values?.[kpi ?? ""] : undefined;
      return value !== undefined && test(entry) ? { value, at: ms(entry.timestamp) } : [];
    });
  return Object.fromEntries(
    all.map(({ change_id, kpi, expected, id, from, to, endEntry, endsAtHorizon }): [string, Partial<Outcome>] => {
      const isInWindow = (entry: Entry) =>
        endsAtHorizon ? ms(entry.timestamp) <= to : !endEntry || entry.id < endEntry.id;
      const before = feeds(kpi, (entry) => entry.id < id);
      const since = feeds(kpi, (entry) => entry.id > id && isInWindow(entry));
      const [baseline, current] = [before.at(-1)?.value, since.at(-1)?.value];
      // This is the only KPI of these logs that is better when it is lower.
      const sign = kpi === "incident_rate" ? -1 : 1;
      const realised = baseline === undefined || current === undefined ? null : sign * (current - baseline);
      // Outcomes whose window overlaps with this one, or ends with the entry after which it began.
      const shared = all.filter(
        (other) =>
          kpi !== null &&
          other.kpi === kpi &&
          other.id !== id &&
          (other.id > id ? overlaps({ to, endEntry, endsAtHorizon }, other) : overlaps(other, { id, from })),
      );
      const state = endsAtHorizon || endEntry ? "final" : "open";
      const isEarly = to < from + 7 * DAY;
      const isOver = endsAtHorizon || endEntry !== undefined;
      const isGuardrail = endEntry?.facts.by === "policy:guardrail";
      const rollbackEnding = isGuardrail ? "guardrail" : "rollback";
      const ending = endEntry?.event_type === "change_applied" ? "change" : rollbackEnding;
      const hasTripped = isEarly && isGuardrail && realised !== null && realised < 0;
      // Without a value since the apply, an outcome that ended early is too early to judge; any other one is inconclusive.
      const hasNoResult = kpi === null || (realised === null && !(isEarly && isOver));
      const isTooEarly = realised === null || (isEarly && !hasTripped);
      const verdictOfResult = isTooEarly ? "too_early" : judge(realised, expected);
      const verdict = hasNoResult ? "inconclusive" : verdictOfResult;
      // The first midnight in the 30 days before the apply.
      const trendStart = Math.floor((from - 30 * DAY) / DAY + 1) * DAY;
      // The value before that midnight; without one, the first value, if it is at least a day older than the apply.
      const earlier =
        before.filter(({ at }) => at < trendStart).at(-1) ??
        (before[0] && from - before[0].at >= DAY ? before[0] : undefined);
      const trend = earlier === undefined || earlier === before.at(-1) ? null : sign * (baseline! - earlier.value);
      return [
        change_id,
        {
          kpi,
          state,
          verdict,
          ended_by: endsAtHorizon ? "horizon" : endEntry ? ending : null,
          replaced_by: !endsAtHorizon && ending === "change" ? endEntry!.change_id : null,
          baseline: baseline ?? null,
          current: current ?? null,
          baseline_age_hours: before.length === 0 ? null : Math.round(((from - before.at(-1)!.at) / HOUR) * 10) / 10,
          realised_delta: realised === null ? null : (expect.closeTo(realised, 9) as number),
          trend_before: trend === null ? null : (expect.closeTo(trend, 9) as number),
          shared_count: shared.length,
          shared_with: shared
            .toSorted((a, b) => b.id - a.id)
            .slice(0, 10)
            .map((other) => other.change_id),
        },
      ];
    }),
  );
}

/** Returns the verdict on a realised delta at the horizon. */
function judge(realised: number, expected: number | null): Outcome["verdict"] {
  if (expected !== null && realised >= expected) return "met";
  if (realised < 0) return "regressed";
  return expected === null ? "inconclusive" : "missed";
}

type Window = { to: number; endEntry: Entry | undefined; endsAtHorizon: boolean };

/** Returns true if a window was still open when another window began. */
const overlaps = ({ to, endEntry, endsAtHorizon }: Window, other: { id: number; from: number }): boolean =>
  endsAtHorizon ? to >= other.from : !endEntry || endEntry.id > other.id;

describe("outcomes of a second implementation", () => {
  test.each(selectCases([1, 2, 3, 4], 2))(
    "equal the projected outcomes at many times of random history %i",
    async (seed) => {
      const log = await createTestLog();
      let steps = 0;
      let outcomeCount = 0;
      await runRandomHistory(log, seed, 500, async () => {
        if (++steps % 50 !== 0) return;
        if (steps % 100 === 0) await projectAll(log);
        const projected = await readOutcomes(log);
        outcomeCount += projected.length;
        const expected = await computeOutcomes(log);
        expect(projected.map(({ change_id }) => change_id).sort()).toEqual(Object.keys(expected).sort());
        for (const outcome of projected) expect(outcome).toMatchObject(expected[outcome.change_id]!);
      });
      expect(outcomeCount).toBeGreaterThan(100);
    },
  );
});

test("of many changes that share a movement, ten are named and all are counted", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  const ids: string[] = [];
  for (let count = 0; count < 30; count++) {
    ids.push(await log.applied({ target: `ui.t${count}`, kpi: "csat", expected_delta_k: 0.1 }));
    log.clock.advance(HOUR);
  }
  for (const id of ids.slice(10, 25)) await log.rollBack(id);
  const late = await log.applied({ target: "ui.late", kpi: "csat" });
  await projectAll(log);
  const findOutcome = async (id: string) => (await readOutcomes(log)).find(({ change_id }) => change_id === id)!;
  const newestFirst = ids.toReversed();
  // The first outcome was open at all other applies.
  expect(await findOutcome(ids[0]!)).toMatchObject({
    shared_count: 30,
    shared_with: [late, ...newestFirst.slice(0, 9)],
  });
  // At the apply of the last change, those from 10 to 24 had been rolled back.
  expect(await findOutcome(late)).toMatchObject({
    shared_count: 15,
    shared_with: [...newestFirst.slice(0, 5), ...newestFirst.slice(20, 25)],
  });
});

test("an outcome ends at its horizon or when another change of its target is applied", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4, incident_rate: 0.04 });
  const first = await log.applied({ target: "ui.form", kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 4.5, incident_rate: 0.06 });
  log.hours(48);
  // The same target, whose case does not matter.
  const second = await log.applied({ target: "UI.form", kpi: "csat", expected_delta_k: 0.2 });
  await log.feed({ csat: 4.6 });
  const findOutcome = async (id: string) => (await readOutcomes(log)).find(({ change_id }) => change_id === id)!;
  expect(await findOutcome(first)).toMatchObject({
    state: "final",
    verdict: "too_early",
    ended_by: "change",
    replaced_by: second,
    realised_delta: 0.5,
    later: { current: 4.6, realised_delta: 0.6, words: "rose by 0.6 (better) since the apply" },
    side_effects: [
      { kpi: "incident_rate", from: 0.04, to: 0.06, effect: "worse", words: "incident_rate rose by 0.02, worse" },
    ],
  });
  expect(await findOutcome(second)).toMatchObject({ state: "open", verdict: "too_early", ended_by: null, later: null });
  await pass(log, 7 * DAY + 1);
  await log.feed({ csat: 5 });
  expect(await findOutcome(second)).toMatchObject({
    state: "final",
    verdict: "missed",
    ended_by: "horizon",
    realised_delta: 0.1,
    later: { realised_delta: 0.5 },
    words: "csat: expected to rise by 0.2, it rose by 0.1 (better), a KPI of the whole product.",
  });
  await log.rollBack(second);
  expect(await findOutcome(second)).toMatchObject({ verdict: "missed", ended_by: "horizon" });
});

test("earlier outcomes are not counted as closed if the store cannot be read before the run", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await pass(log, 7 * DAY + 1);
  // Without a feed since the apply, the outcome ends without a verdict.
  expect(await countVerdicts(log, () => projectAll(log))).toEqual({ closed: 1, new_verdicts: 0 });
  const { get } = log.store;
  // The read before the run fails, and the one after it succeeds.
  const reads = [() => Promise.reject(new Error("no answer")), get];
  const store = {
    ...log.store,
    get: ((...request: Parameters<typeof get>) => reads.shift()!(...request)) as typeof get,
  };
  expect(await countVerdicts({ store }, () => projectAll(log))).toEqual({ closed: 0, new_verdicts: 0 });
});

test("an outcome whose horizon ends without a feed is reported", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 4.5 });
  const titles = async () => {
    await projectAll(log);
    return (await readActivityPage(log, { limit: 5, kind: "outcome" })).entries.map(({ title, at }) => [title, at]);
  };
  expect(await titles()).toEqual([]);
  const horizon = new Date(ms(log.clock.iso()) + 7 * DAY).toISOString();
  await pass(log, 7 * DAY + 1);
  expect(await titles()).toEqual([[`The outcome of ${id} is final: missed`, horizon]]);
  await log.feed({ csat: 4.6 });
  expect(await titles()).toHaveLength(1);
});
