/** Decides on proposals: the tier, the number of consents, and the first entry of the change. */
import { AppError, invalidField } from "../../kit/errors.ts";
import { isVerifiedActor, POLICY_MINOR, classifyProposer } from "./actor.ts";
import { type Risk, type Tier, DEFAULTED_FIELDS } from "./change.ts";
import { type Content, contentDigest } from "./content.ts";
import type { Command, Context, NewEvent, ProposeInput } from "./command.ts";
import { isPlan, listEntries, hasNoValue } from "./list_entries.ts";
import { requireAllowedTarget, countRequiredApprovers, judgeTier, explainNotMinor } from "./policy.ts";
import type { Policy } from "./intent.ts";
import { requireSignature } from "./require_signature.ts";
import { listKeys } from "./signing.ts";
import { requirePlan } from "./require_plan.ts";
import { requireStages } from "./require_stages.ts";

/**
 * Decides on a proposal. Errors: 403 `forbidden_target`, `proposer_unknown`, 400 `invalid_field`, `value_not_allowed`, 429
 * `too_many_open`, 409 `target_conflict`, those of a signature.
 */
export function propose(command: Proposal, context: Context): NewEvent {
  const { input, minor_today, target_owner, openChanges, limit_reached, not_allowed } = command;
  const { requester, places, seen, step_base } = command;
  const { actor, manifest_hash } = context;
  const { policy } = context.intent;
  const proposer_kind = classifyProposer(input.proposer ?? null, { actor, principals: context.intent.principals });
  const { tier, tier_reason } = gradeProposal(command, context);
  const content = createContent(input, tier);
  const minor = tier === "minor";
  if (!minor && !policy.self_approval && input.proposer === undefined)
    throw invalidField("proposer", "is required: the intent forbids self-approval");
  if (proposer_kind === "model") requireKnownRequester(requester, policy);
  requirePlan(input);
  requireAllowedTarget(input, policy);
  requireStages(input, context.intent);
  // The command has these errors from earlier reads; the errors above come first.
  if (not_allowed) throw not_allowed;
  if (limit_reached) throw limit_reached;
  if (policy.on_conflict === "block" && openChanges.length > 0)
    throw new AppError(
      "target_conflict",
      isPlan(input)
        ? `another live change is on a target of ${input.target}; decide that one first`
        : `another live change is on ${input.target} of this tenant; decide that one first`,
      { conflicts: openChanges },
    );
  const detail = {
    status: minor ? "approved" : "pending_consent",
    kind: content.kind,
    target: content.target,
    ...(content.sets && { sets: content.sets.map(({ tenant_id, target }) => ({ tenant_id, target })) }),
    tier,
    tier_asked: input.tier ?? null,
    ...(tier_reason === undefined ? {} : { tier_reason }),
    unstated: listUnstated(input),
    ...(hasNoValue(input) ? { sets_nothing: true } : {}),
    ...findValueHint(input, proposer_kind),
    ...(places && { places }),
    ...(content.apply_when && { apply_when: content.apply_when }),
    ...(content.stages && {
      stages: { shares: content.stages.steps.map(({ share }) => share), fed_by: content.stages.fed_by },
    }),
    // The policy consents to replacing the values with these digests.
    ...(minor && seen && { seen }),
    ...(step_base && { step_base }),
    risk: content.risk,
    kpi: content.kpi,
    proposer: content.proposer,
    proposer_kind,
    approver: minor ? POLICY_MINOR : null,
    required_approvers: countRequiredApprovers(tier, policy),
    // Each entry of a plan counts for the daily limit of minor changes.
    ...(minor ? { minor_number: minor_today + listEntries(content).length, target_owner } : {}),
    ...(input.supersedes === undefined ? {} : { supersedes: input.supersedes }),
    // No other change of the target was open, so searches for open changes can stop at this entry.
    ...(policy.on_conflict === "block" ? { alone: true } : {}),
    digest: contentDigest(content, context.sha256),
    manifest_hash,
    ...actor,
    ...(requester && { asked_by: requester.asked_by, message_id: requester.message_id }),
    ...createSignatureFacts(command, context, proposer_kind === "model"),
  };
  return { event_type: "change_proposed", detail, content };
}

/**
 * Requires that the person who asked a model for its draft is known: that person counts as its proposer. Errors: 403
 * `proposer_unknown`.
 */
function requireKnownRequester(requester: Proposal["requester"], { self_approval, signing }: Policy): void {
  const name = requester?.asked_by ?? null;
  if (name === null && !self_approval)
    throw new AppError(
      "proposer_unknown",
      "the intent forbids self-approval, and the request does not name the person who asked for this draft",
    );
  if (name === null || requester!.isVerified) return;
  // A claimed name is rejected if its person has keys, or if it could hide a requester who may not approve the draft.
  if (listKeys(name, signing).length > 0 || (signing.signedOnly && !self_approval))
    throw new AppError(
      "proposer_unknown",
      `nothing but the request says that ${name} asked for this draft; come through the proxy that names people`,
    );
}

type Proposal = Extract<Command, { type: "propose" }>;

/** Returns the content of a proposal, with the tier that it gets. */
export const createProposedContent = (proposal: TierFacts, context: TierContext): Content =>
  createContent(proposal.input, gradeProposal(proposal, context).tier);

/** A proposal, and the facts from the log that its tier depends on. */
export type TierFacts = Pick<Proposal, "input" | "minor_today" | "rolled_back" | "seen" | "first_value">;
type TierContext = Pick<Context, "intent" | "actor">;

/** Returns the tier of a proposal and, if minor was requested and not granted, the reason. */
export function gradeProposal(
  { input, minor_today, rolled_back, seen, first_value }: TierFacts,
  { intent, actor }: TierContext,
): { tier: Tier; tier_reason?: string } {
  const { policy, principals } = intent;
  const tier = judgeTier(input, policy, minor_today);
  if (input.tier !== "minor") return { tier };
  if (tier !== "minor") return { tier, tier_reason: explainNotMinor(input, policy, minor_today)! };
  const proposer_kind = classifyProposer(input.proposer ?? null, { actor, principals });
  const createStandard = (tier_reason: string) => ({ tier: "standard" as const, tier_reason });
  // Under an intent with principals, a proposal with a claimed name waits for consent; otherwise an agent could omit its secret.
  if (Object.keys(principals).length > 0 && !isVerifiedActor(actor))
    return createStandard("It is not minor: nothing but the request says who proposes it.");
  // A model's draft always waits for people; an agent's proposal too, unless the intent says otherwise.
  if (proposer_kind === "model") return createStandard("It is not minor: a model's draft waits for people.");
  if (proposer_kind === "agent" && !policy.minor?.agents)
    return createStandard("It is not minor: the intent lets no agent's change be minor.");
  // The policy would consent to replacing a value that nobody can read.
  if (seen === null) return createStandard("It is not minor: its target system cannot be read now.");
  if (first_value !== undefined)
    return createStandard(
      `It is not minor: it is the first value of ${first_value}, from which its steps are counted.`,
    );
  if (rolled_back !== undefined)
    return createStandard(
      `It is not minor: ${rolled_back.target} was rolled back at ${rolled_back.at}, and for 24 hours a person must approve a change of it first.`,
    );
  return { tier };
}

/** Lists the fields that get their default because the proposer did not state them. */
const listUnstated = (input: ProposeInput) => DEFAULTED_FIELDS.filter((field) => input[field] === undefined);

/** Warns about an agent's text value that parses as JSON of another type. */
function findValueHint(input: ProposeInput, proposer_kind: string): { value_hint?: string } {
  if (proposer_kind !== "agent" && proposer_kind !== "model") return {};
  for (const { target, value } of listEntries(input)) {
    const type = typeof value === "string" ? describeJsonType(value) : undefined;
    const subject = isPlan(input) ? `The value of ${target}` : "The value";
    if (type !== undefined) return { value_hint: `${subject} is text that reads as ${type}; it is set as text.` };
  }
  return {};
}

function describeJsonType(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "string") return undefined;
    if (value === null) return "null";
    return Array.isArray(value) ? "a JSON list" : `a JSON ${typeof value}`;
  } catch {
    return undefined;
  }
}

/** Returns the signature's facts. `isOptional`: the proposer is a model, which cannot sign. */
function createSignatureFacts({ input, signature }: Proposal, { intent, actor }: Context, isOptional: boolean): object {
  if (input.proposer === undefined || (isOptional && !signature)) return {};
  return requireSignature({ type: "propose", name: input.proposer, signature }, intent.policy, actor);
}

const createContent = (input: ProposeInput, tier: Tier): Content => ({
  tenant_id: input.tenant_id,
  kind: input.kind,
  target: input.target,
  ...(input.value === undefined ? {} : { value: input.value }),
  summary: input.summary,
  rationale: input.rationale ?? "",
  expected_delta_k: input.expected_delta_k ?? null,
  affected_users: input.affected_users ?? null,
  reversible: input.reversible ?? true,
  tier,
  risk: input.risk ?? "medium",
  kpi: input.kpi ?? null,
  proposer: input.proposer ?? null,
  ...(input.apply_when === undefined ? {} : { apply_when: input.apply_when }),
  ...(input.sets === undefined ? {} : { sets: input.sets }),
  ...(input.promotes === undefined ? {} : { promotes: input.promotes }),
  ...(input.stages === undefined ? {} : { stages: input.stages }),
});

/** Fields of a follow-up. */
export interface Followup {
  tenant_id: string;
  affected_users: number;
  expected_delta_k: number;
  proposer?: string | undefined;
}

/** The specification's example of a workflow change: a follow-up for the customers of one tenant. */
export function createCrmFollowup(input: Followup): ProposeInput {
  const { affected_users, expected_delta_k } = input;
  return {
    ...input,
    kind: "workflow",
    target: "crm.followup",
    summary: `Follow up with ${affected_users} customers`,
    rationale: `A follow-up to ${affected_users} customers is expected to gain ${expected_delta_k}.`,
    reversible: true,
    risk: estimateRisk(affected_users),
    value: { enabled: true, affected_users, expected_delta_k },
  };
}

function estimateRisk(affectedUsers: number): Risk {
  if (affectedUsers <= 100) return "low";
  return affectedUsers <= 10_000 ? "medium" : "high";
}
