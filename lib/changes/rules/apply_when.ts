/** Changes that apply by themselves: when they may, since when they are due, and how that is said. */
import * as z from "zod";
import { HOUR_MS } from "../../kit/days.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { findAutomationProblem } from "./apply_when_rule.ts";
import type { Change } from "./change.ts";
import type { Policy } from "./intent.ts";

/** For how long a window, a freeze or a busy target postpones an automatic apply. */
export const MAX_POSTPONED_MS = 24 * HOUR_MS;

/** `manual`, `approved`, or a time in the future, in UTC whatever offset it is given with; `manual` counts as absent. */
export const applyWhenSchema = () =>
  z
    .union(
      [z.enum(["manual", "approved"]), z.iso.datetime({ offset: true })],
      "must be manual, approved, or a time such as 2026-12-24T08:00:00Z",
    )
    .transform((text) => (text === "manual" ? undefined : text === "approved" ? text : new Date(text).toISOString()));

type ApplyWhenField = Pick<Change, "apply_when">;

const isTime = (applyWhen: string): boolean => applyWhen !== "approved";

/** Requires that the intent allows the `apply_when` of a proposal, and that its time can still come. Errors: 400 `invalid_field`. */
export function requireApplyWhen({ apply_when }: ApplyWhenField, policy: Policy, now: number): void {
  if (apply_when === undefined) return;
  const mode = isTime(apply_when) ? "scheduled" : "approved";
  if (!policy.apply_when.includes(mode))
    throw invalidField("apply_when", `the intent's policy.apply_when does not list ${mode}`);
  if (mode === "approved") return;
  const { consent_ttl_hours, approval_ttl_hours } = policy;
  const at = Date.parse(apply_when);
  if (at <= now) throw invalidField("apply_when", "must be a time in the future");
  const hours = [consent_ttl_hours, approval_ttl_hours].filter((limit) => limit !== undefined);
  const last = now + hours.reduce((sum, limit) => sum + limit, 0) * HOUR_MS;
  if (hours.length > 0 && at > last)
    throw invalidField(
      "apply_when",
      `must be at ${new Date(last).toISOString()} or earlier: by then the change expires under the intent`,
    );
}

/** Requires that the intent in force lets the service apply a change by itself. Errors: 403 `not_permitted`. */
export function requireAutomation({ apply_when, automation_stopped }: Change, policy: Policy): void {
  const mode = apply_when === undefined ? "manual" : isTime(apply_when) ? "scheduled" : "approved";
  const problem =
    mode === "manual" || automation_stopped
      ? "the change does not apply by itself"
      : !policy.apply_when.includes(mode)
        ? `the intent's policy.apply_when does not list ${mode} any more`
        : findAutomationProblem(policy);
  if (problem) throw new AppError("not_permitted", problem, { action: "apply" });
}

/** The moment from which an approved change is to be applied by the service, RFC 3339; undefined where it is not. */
export function findAutomationTime(
  change: Pick<Change, "status" | "apply_when" | "automation_stopped" | "decided_at" | "created_at">,
): string | undefined {
  const { status, apply_when, automation_stopped, decided_at, created_at } = change;
  if (status !== "approved" || apply_when === undefined || automation_stopped) return undefined;
  return isTime(apply_when) ? apply_when : (decided_at ?? created_at);
}

/** Returns true where a moment must have passed by two clock samples before the change is applied. */
export const isScheduled = ({ apply_when }: ApplyWhenField): boolean => apply_when !== undefined && isTime(apply_when);

/** Returns true where a consent at this moment comes after the time of the change. */
export const isAfterScheduledTime = (change: Pick<Change, "apply_when" | "automation_stopped">, at: string): boolean =>
  isScheduled(change) && !change.automation_stopped && Date.parse(change.apply_when!) <= Date.parse(at);
