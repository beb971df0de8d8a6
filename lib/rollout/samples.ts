/** Totals that are fed to a rollout, and the checks that they must pass. */
import type { Cell, Totals, WatchedKpi } from "./plan.ts";
import { findImpossibleTotals } from "./arm.ts";
import type { Cells } from "./decide_rollout.ts";

/** Totals of a KPI in a step, with the time they are of, the time they arrived, and their sender. */
export interface FedTotals extends Cell {
  step: number;
  kpi: string;
  /** RFC 3339, UTC. */
  as_of: string;
  /** When they arrived. */
  at: string;
  by: string;
}

/** A row of samples that a feeder sends. */
export type SampleRow = Pick<FedTotals, "step" | "kpi" | "as_of" | "treated" | "control">;

/** Fraction by which a number of users may be below the largest that was fed before. */
const MAX_FALL = 0.01;

/** The sums of each kind, apart from `n`: `sum` Σx, `sum2` Σx²; with the denominators y of a ratio also `per` Σy, `per2` Σy², `cross` Σxy. */
const SUMS = {
  binary: ["sum"],
  mean: ["sum", "sum2"],
  ratio: ["sum", "sum2", "per", "per2", "cross"],
} as const satisfies Record<WatchedKpi["kind"], readonly (keyof Totals)[]>;

/** Explains which sum the totals of a KPI lack or have in excess; undefined if the sums are right. */
export function findFormProblem({ kind }: WatchedKpi, totals: Totals): string | undefined {
  const needed: readonly string[] = SUMS[kind];
  const missing = needed.find((name) => totals[name as keyof Totals] === undefined);
  if (missing) return `needs ${missing}, since its KPI is ${kind === "binary" ? "binary" : `a ${kind}`}`;
  const stray = Object.entries(totals).find(
    ([name, sum]) => name !== "n" && sum !== undefined && !needed.includes(name),
  );
  return stray && `has ${stray[0]}, which a ${kind} KPI does not have`;
}

/** Explains why totals are impossible by themselves or after `maximums`, the largest numbers of users fed so far. */
export function findImpossibleCell(
  watched: WatchedKpi,
  cell: Cell,
  maximums: ArmMaximums | undefined,
): string | undefined {
  for (const arm of ["treated", "control"] as const) {
    const { n, ...sums } = cell[arm];
    const hasSums = Object.values(sums).some((sum) => sum !== 0 && sum !== undefined);
    if (n <= 0 && hasSums) return `${arm}: sums of no users are not 0`;
    const problem = n > 0 ? findImpossibleTotals(watched, cell[arm]) : undefined;
    if (problem !== undefined) return `${arm}: ${problem}`;
    const maximum = maximums?.[arm] ?? 0;
    if (n < maximum * (1 - MAX_FALL)) return `${arm}: n is ${n} and was ${maximum}; users do not become fewer`;
  }
  return undefined;
}

/** The largest numbers of users that were fed. */
export interface ArmMaximums {
  treated: number;
  control: number;
}

/** Arranges totals by step and KPI, as the rule reads them. */
export function toCells(totals: readonly FedTotals[]): Cells {
  const cells: Record<string, Cell>[] = [];
  for (const { step, kpi, treated, control } of totals) {
    while (cells.length <= step) cells.push({});
    cells[step]![kpi] = { treated, control };
  }
  return cells;
}
