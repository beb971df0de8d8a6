/** Estimates, from the plan alone, how many users each step needs before it can advance. */
import { getBounds } from "./arm.ts";
import { BUCKETS } from "./bucket.ts";
import type { Step, WatchedKpi } from "./plan.ts";
import { findNextShare, readAllowed } from "./rule.ts";
import type { Stages } from "./stages.ts";

/** Users and days that a step needs. */
export interface StepEstimate {
  step: number;
  share: number;
  /** Users with the value, rather too many than too few; null if the plan alone does not determine them. */
  users: number | null;
  /** Days at `users_a_day`, rather too many than too few; null if that is unknown. */
  days: number | null;
}

const HOURS_A_DAY = 24;

/**
 * Estimates from the largest variance that the bounds of each KPI allow (a quarter of the squared range), so real numbers are
 * mostly smaller. A relative allowance and a ratio depend on the control's mean, and an allowance of 0 is never proven: null.
 */
export const estimateSteps = (stages: Stages): StepEstimate[] =>
  stages.steps.map((step, stepIndex) => {
    const estimates = stages.watch.map((watched) => estimateUsers(watched, step, findNextShare(stages, stepIndex)));
    const users = estimates.every((estimate) => estimate !== null) ? Math.max(0, ...estimates) : null;
    return { step: stepIndex, share: step.share, users, days: estimateDays(step, users, stages.users_a_day) };
  });

function estimateUsers(watched: WatchedKpi, { advance, share, min_users = 2 }: Step, next: number): number | null {
  if (advance === "manual") return 0;
  const exposed = share / BUCKETS;
  // Each arm needs `min_users`, and above a share of half the control is the smaller arm.
  if (advance === "unless_worse") return Math.ceil(min_users * Math.max(1, exposed / (1 - exposed)));
  const allowed = readAllowed(watched);
  if (watched.kind === "ratio" || typeof watched.allowed === "object" || allowed === 0) return null;
  const [low, high] = getBounds(watched);
  const variance = (high - low) ** 2 / 4;
  // With `budget` a loss counts at the share of the next step, otherwise at all users.
  const factor = advance === "budget" ? next / BUCKETS : 1;
  // 10 is about the squared bound that `compare` uses; of n users with the value, n·(1 − exposed) count as effective there.
  return Math.ceil((10 * variance * (factor / allowed) ** 2) / (1 - exposed));
}

function estimateDays({ share, min_hours }: Step, users: number | null, usersADay: number | undefined): number | null {
  if (users === null || usersADay === undefined) return null;
  const days = Math.max(min_hours / HOURS_A_DAY, users / ((usersADay * share) / BUCKETS));
  return Math.ceil(days * 10) / 10;
}
