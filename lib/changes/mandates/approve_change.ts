/** Lets mandates approve a proposal, in the transaction that records it. */
import { AppError } from "../../kit/errors.ts";
import { type ValueFacts, type ValueJudgement, judgeValues, type SystemReading } from "../judge_values.ts";
import { findUnapprovedRollback } from "../recent_rollback.ts";
import { type Actor, serviceActor } from "../rules/actor.ts";
import type { Change, TargetLocation } from "../rules/change.ts";
import type { ProposeInput } from "../rules/command.ts";
import { parseDetail } from "../rules/event.ts";
import { listEntries } from "../rules/list_entries.ts";
import type { EffectiveBounds } from "../rules/mandate_allowed.ts";
import type { MandateApproval } from "../rules/mandate_approval.ts";
import { mandateApproverName } from "../rules/mandate.ts";
import { type BoundViolation, findBoundViolation } from "../rules/mandate_bounds.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";
import { requireSchemas } from "../rules/value_limits.ts";
import type { CommandResult, Transaction } from "../transaction.ts";
import { validateValue } from "../validate_value.ts";
import { findNewestOnDay } from "../newest_on_day.ts";
import { judgeMandate } from "./judge_mandate.ts";
import { createLimitRule } from "./limit_rules.ts";
import { countOpen } from "./count_open.ts";
import { listSignedMandates, readMandate } from "./read_mandate.ts";
import { listSystems } from "./systems.ts";

/** The bound of a mandate that a change of its agent violates. */
export interface MandateViolation extends BoundViolation {
  mandate_id: string;
}

/** A proposal, and the facts about its targets. */
export interface ProposalFacts {
  input: ProposeInput;
  actor: Actor;
  places: readonly TargetLocation[] | undefined;
  /** Digests of the values to be replaced; null if they cannot be read now. */
  seen?: readonly string[] | null | undefined;
  readings?: readonly SystemReading[] | undefined;
}

/** The approved change, or the reasons why no mandate approves it. */
export interface MandateDecisionResult {
  approved?: CommandResult;
  violations?: MandateViolation[];
}

/** Approves a recorded proposal by the oldest mandate of its agent that covers it. */
export async function decideByMandate(
  transaction: Transaction,
  { record }: CommandResult,
  proposal: ProposalFacts,
): Promise<MandateDecisionResult> {
  const { input, actor, seen } = proposal;
  const { intent } = transaction.product;
  const isPending = record.change.status === "pending_consent";
  if (!isPending || actor.authenticated !== "agent" || actor.actor === null || !intent.policy.mandates) return {};
  const violations: MandateViolation[] = [];
  for (const mandate_id of await listSignedMandates(transaction.tx, actor.actor)) {
    const mandate = await readMandate(transaction, mandate_id);
    if (!mandate || mandate.state === "ended") continue;
    const judgement = await judgeProposal(transaction, mandate, proposal);
    if ("bound" in judgement) {
      violations.push({ mandate_id, ...judgement });
      continue;
    }
    const target_owner = await transaction.ledger.targetOwner(input);
    const command = { type: "mandate", approval: judgement, target_owner, seen: seen ?? undefined } as const;
    return { approved: transaction.execute(record, command, serviceActor(mandateApproverName(mandate_id))) };
  }
  return violations.length > 0 ? { violations } : {};
}

/** Returns the approval of a mandate, or the first bound that the change violates. */
async function judgeProposal(
  transaction: Transaction,
  mandate: MandateRecord,
  { input, places, seen, readings }: ProposalFacts,
): Promise<MandateApproval | BoundViolation> {
  const { at, product, evidence } = transaction;
  const { policy } = product.intent;
  const { inactive, bounds } = await judgeMandate(transaction, mandate);
  // Without bounds a mandate is inactive, so there always is a reason.
  if (inactive !== undefined || !bounds) return { bound: "state", message: inactive ?? "" };
  const systems = listSystems(product.adapter);
  const violation = findBoundViolation(input, mandate, bounds, {
    at,
    rule: policy.mandates!,
    stages: policy.stages,
    places,
    systems,
  });
  if (violation) return violation;
  if (seen === null) return { bound: "seen", message: "Its target system cannot be read now." };
  const rollback = await findRecentRollback(evidence, input, at);
  if (rollback) return rollback;
  const values = await judgeLimits(transaction, input, bounds, { readings });
  return findValueViolation(values) ?? countChange(transaction, mandate, bounds, listEntries(input).length);
}

/** Returns a violation if a target of the change was rolled back in the last 24 hours. */
export async function findRecentRollback(
  evidence: Transaction["evidence"],
  change: ProposeInput | Change,
  at: string,
): Promise<BoundViolation | undefined> {
  for (const entry of listEntries(change)) {
    const since = await findUnapprovedRollback(evidence, entry, at);
    if (since === undefined) continue;
    const message = `${entry.target} was rolled back at ${since}, and for 24 hours a person must approve a change of it first.`;
    return { bound: "rollback", message };
  }
  return undefined;
}

/** Judges the values of a change by the limits of a mandate. */
export const judgeLimits = async (
  { ledger, at }: Pick<Transaction, "ledger" | "at">,
  change: ProposeInput | Change,
  { limits }: Pick<EffectiveBounds, "limits">,
  facts: Pick<ValueFacts, "readings" | "recorded">,
): Promise<ValueJudgement> =>
  limits ? judgeValues(ledger, change, { policy: { targets: [createLimitRule(limits)] }, at, ...facts }) : {};

/** Judges the values of a change by the schema of a mandate alone: an applied change has already made its step. */
export function judgeSchema(change: Change, { limits }: Pick<EffectiveBounds, "limits">): ValueJudgement {
  try {
    if (limits) requireSchemas(change, { targets: [createLimitRule(limits)] }, validateValue);
    return {};
  } catch (error) {
    if (error instanceof AppError && error.code === "value_not_allowed") return { error };
    throw error;
  }
}

/** Returns the limit of a mandate that values violate. */
export function findValueViolation({ error, first, absentAtStart }: ValueJudgement): BoundViolation | undefined {
  if (error) return { bound: error.details["rule"] === "max_step" ? "max_step" : "schema", message: toSentence(error) };
  const target = first ?? absentAtStart;
  if (target === undefined) return undefined;
  return { bound: "max_step", message: `${target} held nothing when the hours of max_step began.` };
}

const toSentence = ({ message }: AppError): string => `${message[0]!.toUpperCase()}${message.slice(1)}.`;

/** Counts a change, and each of its entries for the daily limit. Returns the approval, or the limit that is used up. */
async function countChange(
  { evidence, at }: Transaction,
  mandate: MandateRecord,
  { max_per_day, max_open }: EffectiveBounds,
  entries: number,
): Promise<MandateApproval | BoundViolation> {
  const { mandate_id, revision, counts_from } = mandate;
  const number = (await countUsedToday(evidence, mandate_id, at)) + entries;
  if (number > max_per_day)
    return {
      bound: "max_per_day",
      message: `Its ${max_per_day} changes of this UTC day are used up, or too few for a plan.`,
    };
  const open = await countOpen(evidence, mandate);
  if (open >= max_open)
    return { bound: "max_open", message: `${max_open} of its changes wait to be applied or denied.` };
  const left = { today: max_per_day - number, open: max_open - open - 1 };
  return { mandate_id, revision, entry: counts_from, number, left };
}

/** Counts the changes that a mandate approved on the UTC day of `at`, by the log. */
export async function countUsedToday(
  evidence: Transaction["evidence"],
  mandateId: string,
  at: string,
): Promise<number> {
  const newest = await findNewestOnDay(at, (since) =>
    evidence.walkMandateConsents(mandateApproverName(mandateId), since),
  );
  // A consent without a number counts as if the limit were used up.
  return newest ? (parseDetail(newest.detail).mandate?.number ?? Infinity) : 0;
}
