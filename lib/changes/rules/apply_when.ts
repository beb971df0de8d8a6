/** Changes that apply by themselves: conditions of the intent, and the time when the apply is due. */
import * as z from "zod";
import { HOUR_MS } from "../../kit/days.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { findAutomationProblem } from "./apply_when_rule.ts";
import type { Change } from "./change.ts";
import type { Policy } from "./intent.ts";

/** Longest time by which a window, a freeze or a busy target postpones an automatic apply. */
export const MAX_POSTPONED_MS = 24 * HOUR_MS;

const NOT_A_MOMENT = "must be manual, approved, or a time such as 2026-12-24T08:00:00Z";

/** Schema of `apply_when`: `manual` (as if absent), `approved`, or a time, which is converted to UTC. */
export const applyWhenSchema = () =>
  z
    .union([z.enum(["manual", "approved"]), z.iso.datetime({ offset: true, error: NOT_A_MOMENT })], NOT_A_MOMENT)
    .transform((text) => {
      if (text === "manual") return undefined;
      return text === "approved" ? text : new Date(text).toISOString();
    });

type ApplyWhenField = Pick<Change, "apply_when">;

const isTime = (applyWhen: string): boolean => applyWhen !== "approved";

/**
 * Requires that the intent allows the `apply_when` of a proposal, and that the change does not expire before that time. Errors:
 * 400 `invalid_field`.
 */
export function requireApplyWhen({ apply_when }: ApplyWhenField, policy: Policy, now: number): void {
  if (apply_when === undefined) return;
  const mode = isTime(apply_when) ? "scheduled" : "approved";
  if (!policy.apply_when.includes(mode))
    throw invalidField("apply_when", `${mode} is not listed in the intent's policy.apply_when`);
  if (mode === "approved") return;
  const { consent_ttl_hours, approval_ttl_hours } = policy;
  const applyTime = Date.parse(apply_when);
  if (applyTime <= now) throw invalidField("apply_when", "must be a time in the future");
  const limitHours = [consent_ttl_hours, approval_ttl_hours].filter((hours) => hours !== undefined);
  // The change may wait for consent and then for its apply, each up to its own limit.
  const latestTime = now + limitHours.reduce((sum, hours) => sum + hours, 0) * HOUR_MS;
  if (limitHours.length > 0 && applyTime > latestTime)
    throw invalidField(
      "apply_when",
      `must be at ${new Date(latestTime).toISOString()} or earlier: at that time the change expires under the intent`,
    );
}

/** Requires that the current intent allows the service to apply the change by itself. Errors: 403 `not_permitted`. */
export function requireAutomation(change: Change, policy: Policy): void {
  const problem = findApplyProblem(change, policy);
  if (problem) throw new AppError("not_permitted", problem, { action: "apply" });
}

function findApplyProblem({ apply_when, automation_stopped }: Change, policy: Policy): string | undefined {
  if (apply_when === undefined || automation_stopped) return "the change does not apply by itself";
  const mode = isTime(apply_when) ? "scheduled" : "approved";
  if (!policy.apply_when.includes(mode)) return `the intent's policy.apply_when does not list ${mode} any more`;
  return findAutomationProblem(policy);
}

/** Returns when the service applies a change by itself, RFC 3339; undefined if it is not approved, or a person applies it. */
export function findAutomationTime(
  change: Pick<Change, "status" | "apply_when" | "automation_stopped" | "decided_at" | "created_at">,
): string | undefined {
  const { status, apply_when, automation_stopped, decided_at, created_at } = change;
  if (status !== "approved" || apply_when === undefined || automation_stopped) return undefined;
  return isTime(apply_when) ? apply_when : (decided_at ?? created_at);
}

/** Returns true for a change that applies by itself at a stated time, which two clock samples must show as passed. */
export const isScheduled = ({ apply_when }: ApplyWhenField): boolean => apply_when !== undefined && isTime(apply_when);

/** Returns true if a consent at this moment (RFC 3339) comes after the scheduled time of the change. */
export const isAfterScheduledTime = (change: Pick<Change, "apply_when" | "automation_stopped">, at: string): boolean =>
  isScheduled(change) && !change.automation_stopped && Date.parse(change.apply_when!) <= Date.parse(at);
