/** Simulates rollouts under the rule `cs1` of changes whose harm is known. */
import type { Cell, Plan, WatchedKpi } from "../../lib/rollout/plan.ts";
import { decideStep } from "../../lib/rollout/rule.ts";
import { type DrawUser, normal, populate, type Sums, uniform } from "./users.ts";

/** The steps of `"steps": "default"`. */
export const DEFAULT_STEPS: Plan["steps"] = [
  { share: 100, advance: "budget", min_hours: 24 },
  { share: 1000, advance: "budget", min_hours: 24 },
  { share: 5000, advance: "proven", min_hours: 24 },
  { share: 9500, advance: "unless_worse", min_hours: 168, min_users: 500 },
];

/** Steps with the same shares, which only harm or too few users stops. */
export const UNLESS_WORSE: Plan["steps"] = DEFAULT_STEPS.map(({ share, min_hours }) => ({
  share,
  advance: "unless_worse",
  min_hours,
  min_users: 20,
}));

/** A kind of data: the KPI, its users, and users who are worse by an amount of its unit. */
export interface Kind {
  name: string;
  watched: Omit<WatchedKpi, "allowed" | "kpi">;
  draw(harm: number): DrawUser;
  /** An allowance that the simulated users suffice to judge. */
  allowed: number;
  /** KPIs that are watched, all of this kind. */
  kpis?: number;
}

const binary = (rate: number, allowed: number, kpis?: number): Kind => ({
  name: `${rate * 100} % conversion${kpis ? `, ${kpis} KPIs` : ""}`,
  watched: { kind: "binary", good: "up" },
  draw: (harm) => (next) => [next() < rate - harm ? 1 : 0],
  allowed,
  ...(kpis && { kpis }),
});

export const KINDS: readonly Kind[] = [
  {
    name: "normal",
    watched: { kind: "mean", good: "up", bounds: [-6, 6] },
    draw: (harm) => (next) => [normal(next) - harm],
    allowed: 0.05,
  },
  binary(0.2, 0.02),
  binary(0.02, 0.005),
  binary(0.001, 0.0005),
  {
    name: "lognormal, capped at 99.9 %",
    // 483 is the 99.9 % quantile, exp(2 × 3.09).
    watched: { kind: "mean", good: "down", bounds: [0, 483] },
    draw: (harm) => (next) => [Math.exp(2 * normal(next)) + harm],
    allowed: 1,
  },
  {
    name: "ratio per request",
    watched: { kind: "ratio", good: "down", bounds: [0, 20], per_bounds: [1, 50] },
    draw: (harm) => (next) => {
      const requests = 1 + Math.floor(next() ** 3 * 50);
      let errors = 0;
      for (let request = 0; request < requests; request += 1) if (next() < 0.05 + harm) errors += 1;
      return [errors, requests];
    },
    allowed: 0.01,
  },
  binary(0.2, 0.02, 10),
];

/** Outcomes of rollouts. */
export interface Outcomes {
  rolled_back: number;
  released: number;
  on_hold: number;
}

/** Rollouts of a kind, with the harm of the change and the allowance of each KPI. */
export interface Simulation {
  rollouts: number;
  harm: number;
  allowed: number;
  seed: number;
  steps?: Plan["steps"];
}

const HOURS_PER_DECISION = 12;
const DAYS = 60;

/** Runs rollouts of a kind; each has new users at each decision, and lasts at most 60 days. */
export function simulate(kind: Kind, { rollouts, harm, allowed, seed, steps = DEFAULT_STEPS }: Simulation): Outcomes {
  const next = uniform(seed);
  const watch = Array.from({ length: kind.kpis ?? 1 }, (_, index): WatchedKpi => ({
    ...kind.watched,
    kpi: `kpi_${index}`,
    allowed,
  }));
  const control = populate(watch[0]!, kind.draw(0), next);
  // Two drawn populations would differ by chance, which would be harm.
  const treated = harm === 0 ? control : populate(watch[0]!, kind.draw(harm), next);
  const plan: Plan = { steps, watch, max_silent_hours: 24 };
  const outcomes: Outcomes = { rolled_back: 0, released: 0, on_hold: 0 };
  const noTotals = (): Sums => ({ n: 0, sum: 0, sum2: 0, per: 0, per2: 0, cross: 0 });
  const newCells = (): Record<string, Cell> =>
    Object.fromEntries(watch.map(({ kpi }) => [kpi, { treated: noTotals(), control: noTotals() }]));

  const run = (): keyof Outcomes => {
    // New users at each decision.
    const users = [500, 2500, 10_000][Math.floor(next() * 3)]!;
    const cells = [newCells()];
    for (let decisionNumber = 1, hours = 0; decisionNumber <= (DAYS * 24) / HOURS_PER_DECISION; decisionNumber += 1) {
      const step = cells.length - 1;
      const share = plan.steps[step]!.share / 10_000;
      // Each user falls into a bucket of their own, so the size of the arm is a binomial number.
      const spread = Math.sqrt(users * share * (1 - share));
      const count = Math.min(users, Math.max(0, Math.round(users * share + spread * normal(next))));
      for (const cell of Object.values(cells[step]!)) {
        treated.add(cell.treated as Sums, count, next);
        control.add(cell.control as Sums, users - count, next);
      }
      hours += HOURS_PER_DECISION;
      const { decision } = decideStep(plan, { step, hours, silent: 0, cells });
      if (decision === "rollback") return "rolled_back";
      if (decision !== "advance") continue;
      if (step + 1 === plan.steps.length) return "released";
      cells.push(newCells());
      hours = 0;
    }
    return "on_hold";
  };
  for (let rollout = 0; rollout < rollouts; rollout += 1) outcomes[run()] += 1;
  return outcomes;
}
