/** Random plans of rollouts, with random totals of their steps. */
import type { Cell, Plan, Step, Totals, WatchedKpi } from "../../../lib/rollout/plan.ts";
import type { RolloutState } from "../../../lib/rollout/rule.ts";
import { dice } from "../../support/dice.ts";

/** A plan and its state at a feed. */
export interface RandomFeed {
  plan: Plan;
  state: RolloutState;
}

/** Returns the feed of a seed. Its totals are sums over users, as real totals are; about 1 in 30 is made impossible. */
export function randomFeed(seed: number): RandomFeed {
  const random = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  const between = (low: number, high: number): number => low + ((high - low) * random(1_000_001)) / 1_000_000;

  const shares = [
    ...new Set(Array.from({ length: 1 + random(4) }, () => pick([1, 100, 1000, 2500, 5000, 9500, 9999]))),
  ];
  const steps: Step[] = shares
    .sort((a, b) => a - b)
    .map((share) => {
      const advance = pick(["budget", "budget", "proven", "proven", "unless_worse", "manual"] as const);
      return {
        share,
        advance,
        min_hours: random(30),
        ...(advance === "unless_worse" && { min_users: 2 + random(900) }),
      };
    });

  const watch = Array.from({ length: 1 + random(3) }, (_, index): WatchedKpi => {
    const kind = pick(["binary", "mean", "ratio"] as const);
    const isRelative = random(2) === 0;
    const low = isRelative ? pick([0, 0, 2]) : pick([-100, -1.5, 0, 3]);
    const range = pick([0.5, 1, 20, 5000]);
    return {
      kpi: `kpi_${index}`,
      kind,
      good: pick(["up", "down"]),
      allowed: isRelative
        ? { relative: pick([0, 0.01, 0.1, 0.5]) }
        : (kind === "binary" ? 1 : range) * pick([0, 0.005, 0.05, 0.3]),
      ...(kind !== "binary" && { bounds: [low, low + range] as const }),
      ...(kind === "ratio" && { per_bounds: [1, pick([2, 50])] as const }),
    };
  });

  const makeTotals = (
    { kind, bounds = [0, 1], per_bounds = [1, 1] }: WatchedKpi,
    n: number,
    successRate: number,
  ): Totals => {
    // The users are in three groups, whose users all have one value. The first has `successRate` of them, and in a binary KPI it
    // is the successes; the second has 0.7 of the others; the third has the rest.
    const sums = { sum: 0, sum2: 0, per: 0, per2: 0, cross: 0 };
    let remaining = n;
    for (const share of [successRate, 0.7, 1]) {
      const users = Math.floor(remaining * share);
      remaining -= users;
      const [low, high] = bounds;
      const success = share === successRate ? 1 : 0;
      const x = kind === "binary" ? success : between(low, low + (high - low) * pick([0.1, 0.5, 1]));
      const y = between(...per_bounds);
      sums.sum += users * x;
      sums.sum2 += users * x * x;
      sums.per += users * y;
      sums.per2 += users * y * y;
      sums.cross += users * x * y;
    }
    const { sum, sum2, ...rest } = sums;
    const totals = { n, sum, ...(kind !== "binary" && { sum2 }), ...(kind === "ratio" && rest) };
    const member = pick(Object.keys(totals)) as keyof typeof totals;
    return random(30) === 0 ? { ...totals, [member]: (totals[member] ?? 0) * 3 - 1 } : totals;
  };

  const makeCell = (watched: WatchedKpi, { share }: Step): Cell => {
    const users = Math.round(10 ** between(0.5, 6.5));
    const skew = pick([1, 1, 1, 0.9]);
    const treated = Math.round((users * share * skew) / 10_000);
    const rate = between(0, 0.6);
    return {
      treated: makeTotals(watched, treated, rate * pick([1, 1, 0.95, 1.1, 0.5])),
      control: makeTotals(watched, users - treated, rate),
    };
  };

  const step = random(steps.length);
  const cells = steps
    .slice(0, step + 1)
    .map((ofStep) =>
      random(12) === 0
        ? undefined
        : Object.fromEntries(watch.flatMap((kpi) => (random(25) === 0 ? [] : [[kpi.kpi, makeCell(kpi, ofStep)]]))),
    );
  return {
    plan: { steps, watch, max_silent_hours: 24 },
    state: { step, hours: random(200), silent: random(26), cells },
  };
}
