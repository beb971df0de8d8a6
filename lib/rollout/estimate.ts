/** Users that each step of a plan needs before it can advance, as far as the plan alone says it. */
import { getBounds } from "./arm.ts";
import { BUCKETS } from "./bucket.ts";
import type { Step, WatchedKpi } from "./plan.ts";
import { findNextShare, readAllowed } from "./rule.ts";
import type { Stages } from "./stages.ts";

/** Users and days that a step needs. */
export interface StepEstimate {
  step: number;
  share: number;
  /** Users with the value, at most about so many; null where the plan alone does not say it. */
  users: number | null;
  /** Days, at most about so many at `users_a_day`; null where that is not known. */
  days: number | null;
}

const HOURS_A_DAY = 24;

/**
 * Estimates from the largest variance that the bounds of each KPI allow (a quarter of the squared range), so real numbers are
 * mostly smaller. A relative allowance and a ratio depend on the control's mean, and an allowance of 0 is never proven: null.
 */
export const estimateSteps = (stages: Stages): StepEstimate[] =>
  stages.steps.map((step, at) => {
    const users = stages.watch.reduce<number | null>((max, watched) => {
      const own = usersFor(watched, step, findNextShare(stages, at));
      return max === null || own === null ? null : Math.max(max, own);
    }, 0);
    return { step: at, share: step.share, users, days: daysFor(step, users, stages.users_a_day) };
  });

function usersFor(watched: WatchedKpi, { advance, share, min_users = 2 }: Step, next: number): number | null {
  if (advance === "manual") return 0;
  const exposed = share / BUCKETS;
  if (advance === "unless_worse") return Math.ceil(min_users * Math.max(1, exposed / (1 - exposed)));
  const allowed = readAllowed(watched);
  if (watched.kind === "ratio" || typeof watched.allowed === "object" || allowed === 0) return null;
  const [low, high] = getBounds(watched);
  const variance = (high - low) ** 2 / 4;
  const factor = advance === "budget" ? next / BUCKETS : 1;
  return Math.ceil((10 * variance * (factor / allowed) ** 2) / (1 - exposed));
}

function daysFor({ share, min_hours }: Step, users: number | null, usersADay: number | undefined): number | null {
  if (users === null || usersADay === undefined) return null;
  const days = Math.max(min_hours / HOURS_A_DAY, users / ((usersADay * share) / BUCKETS));
  return Math.ceil(days * 10) / 10;
}
