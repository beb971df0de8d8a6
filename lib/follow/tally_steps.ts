/** Where governance counts what it does. Each is called in the transaction of the step that it counts. */
import type { EventType } from "../audit/entry.ts";
import type { Change } from "../governance/rules/change.ts";
import type { OutcomeRecord, Verdict } from "../governance/rules/outcome.ts";
import { type ChangeRecord, targetKey } from "../governance/records.ts";
import type { Unit } from "../governance/transaction.ts";
import type { Tx } from "../store/store.ts";
import { noLongerOpen } from "../pulse/overdue.ts";
import { type ModelDraft, isModels, levelOf } from "../governance/rules/autonomy_level.ts";
import { closingTally, keepGap } from "./record_keeping.ts";
import { addGrowth } from "./growth_log.ts";
import { bump } from "./tally.ts";

declare module "../store/store.ts" {
  interface Collections {
    failed_attempts: true;
    model_drafts: ModelDraft;
    closings: string;
    retrospectives_due: true;
    verdicts: Verdict;
  }
}

/** The name under which the intent's guardrails roll back. */
export const POLICY_GUARDRAIL = "policy:guardrail";

const dayOf = (at: string): string => at.slice(0, 10);

/** The place of an applied change among those whose outcome is open, in the order in which their time runs out. */
export const closingKey = (change: Change): string => `${change.applied_at}:${change.change_id}`;

/** Counts one step of a change; `before` is undefined for a new one. */
export async function tallyStep(
  tx: Tx,
  before: Change | undefined,
  after: Change,
  event: EventType,
  at: string,
): Promise<void> {
  const day = dayOf(at);
  if (before?.status === "pending_consent" && after.status !== "pending_consent")
    await noLongerOpen(tx, "pending_changes", after.change_id);
  switch (event) {
    case "change_proposed":
      return proposed(tx, after, day);
    case "consent_decision":
      return after.status === "pending_consent" ? undefined : decided(tx, after, at);
    case "change_applied":
      tx.put("closings", closingKey(after), after.change_id);
      return bump(tx, day, { attempts: 1 });
    case "change_apply_failed":
      return bump(tx, day, { attempts: 1, attempts_failed: 1, attempts_apply_failed: 1 });
    case "change_rolled_back":
      tx.delete("closings", closingKey(after));
      return attemptFailed(tx, after, "rolled_back");
    case "change_rollback_failed":
      return bump(tx, day, { rollbacks_failed: 1 });
    case "change_drifted":
      await bump(tx, day, { drift_episodes: 1, level_L5: 1 });
      return attemptFailed(tx, after, "drifted");
    default:
      return undefined;
  }
}

async function proposed(tx: Tx, change: Change, day: string): Promise<void> {
  if (change.status === "approved") return bump(tx, day, { decided_minor: 1, level_L4: 1 });
  if (isModels(change))
    tx.put("model_drafts", targetKey(change), {
      change_id: change.change_id,
      at: change.created_at,
    });
}

async function decided(tx: Tx, change: Change, at: string): Promise<void> {
  const draft = (await tx.get("model_drafts", targetKey(change)))?.value;
  await bump(tx, dayOf(at), {
    [`decided_${change.resolution ?? "approved"}`]: 1,
    [`level_${levelOf(change, draft)}`]: 1,
  });
  if (change.resolution === "expired")
    await addGrowth(tx, {
      at,
      kind: "change_expired",
      title: `${change.change_id} expired without consent`,
      detail: change.approval_note ?? "",
      ref: change.change_id,
    });
  if (change.status === "denied") await closed(tx, change, null, at);
}

/** An attempt that had succeeded turns out to have failed; it counts once, on the day of its apply. */
async function attemptFailed(tx: Tx, change: Change, cause: "rolled_back" | "drifted"): Promise<void> {
  const known = await tx.get("failed_attempts", change.change_id);
  if (known && cause === "drifted") return;
  if (!known) tx.put("failed_attempts", change.change_id, true);
  await bump(tx, dayOf(change.applied_at!), { [`attempts_${cause}`]: 1, ...(known ? {} : { attempts_failed: 1 }) });
}

/** Counts what only the end of an operation knows: who asked for a rollback, and the outcome that it closed. */
export async function tallySettled({ tx, at }: Unit, record: ChangeRecord, by: string | undefined): Promise<void> {
  const { change } = record;
  if (change.status !== "rolled_back") return;
  const guarded = by === POLICY_GUARDRAIL;
  await bump(tx, dayOf(at), guarded ? { rollbacks_guardrail: 1, level_L4: 1 } : { rollbacks_person: 1 });
  await addGrowth(tx, {
    at,
    kind: "rolled_back",
    title: `${change.change_id} was rolled back`,
    detail: guarded ? "A guardrail of the intent ordered it." : "A person asked for it.",
    ref: change.change_id,
  });
  const outcome = (await tx.get("outcomes", change.change_id))?.value.final ?? null;
  await closed(tx, change, outcome, at);
}

/** Counts a KPI feed. */
export const tallyFeed = ({ tx, at }: Unit): Promise<void> => bump(tx, dayOf(at), { kpi_feeds: 1 });

/** Counts a change that is over, and asks for its retrospective. `outcome`: `null` when it was never applied. */
export async function closed(tx: Tx, change: Change, outcome: OutcomeRecord["final"], at: string): Promise<void> {
  await bump(tx, dayOf(at), closingTally(change, outcome));
  keepGap(tx, change, outcome, at);
  tx.put("retrospectives_due", change.change_id, true);
  tx.delete("verdicts", change.change_id);
  if (!outcome) return;
  const how = outcome.closed_by === "rollback" ? "by its rollback" : "after 30 days";
  await addGrowth(tx, {
    at,
    kind: "outcome",
    title: `The outcome of ${change.change_id} is final: ${outcome.verdict}`,
    detail: `It was closed ${how}. ${movementOf(outcome)}`,
    ref: change.change_id,
  });
}

/** Expected and realised movement, in a sentence. */
export function movementOf({ kpi, expected_delta_k, realised_delta }: NonNullable<OutcomeRecord["final"]>): string {
  if (kpi === null) return "The change names no KPI.";
  return `${kpi}: expected ${expected_delta_k ?? "nothing stated"}, realised ${realised_delta ?? "no feed since the apply"}.`;
}
