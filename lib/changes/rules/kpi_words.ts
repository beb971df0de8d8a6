/** Describes a KPI's movement: direction, amount, better or worse. Without a schema, so that a browser can load it. */

/** The direction in which a KPI is good. */
export type GoodDirection = "up" | "down";

/** Describes a movement without the KPI's name: `fell by 0.012 (better)`. `delta` is the new value minus the old one. */
export const describeDelta = (delta: number, good: GoodDirection): string =>
  delta === 0 ? "did not move" : `${movementVerb(delta)} by ${Math.abs(delta)} (${nameEffect(delta, good)})`;

/** Describes the movement of a KPI that a change did not name: `support_minutes rose by 1.1, worse`. */
export const describeSideEffect = (kpi: string, delta: number, good: GoodDirection): string =>
  `${kpi} ${movementVerb(delta)} by ${Math.abs(delta)}, ${nameEffect(delta, good)}`;

/** Describes the movement of a KPI that a guardrail found worse: `rose by 0.03 (worse)`. */
export const describeRegression = (baseline: number, value: number): string =>
  // Twelve digits leave out the error of the subtraction, as in 0.30000000000000004.
  describeDelta(Number((value - baseline).toPrecision(12)), value > baseline ? "down" : "up");

/** Describes a gain as movement: a gain of 0.012 of a KPI that is good when it falls is `fell by 0.012 (better)`. */
export const describeGain = (gain: number, good: GoodDirection): string => describeDelta(gainToDelta(gain, good), good);

/** Describes the expected movement: `to fall by 0.02`. */
export function describePromise(gain: number, good: GoodDirection): string {
  const delta = gainToDelta(gain, good);
  return delta === 0 ? "not to move" : `to ${delta > 0 ? "rise" : "fall"} by ${Math.abs(delta)}`;
}

/** A difference with its sign: `+0.05`, `−0.012`. */
export function formatDelta(delta: number): string {
  if (delta === 0) return "0";
  return `${delta > 0 ? "+" : "−"}${Math.abs(delta)}`;
}

/** Says whether a movement is better or worse. */
export const nameEffect = (delta: number, good: GoodDirection): "better" | "worse" =>
  delta > 0 === (good === "up") ? "better" : "worse";

/** Converts a gain, which is above 0 where the KPI is better, into a movement; `|| 0` turns -0 into 0. */
const gainToDelta = (gain: number, good: GoodDirection): number => (good === "up" ? gain : -gain) || 0;

const movementVerb = (delta: number): string => (delta > 0 ? "rose" : "fell");
