/** Previews how the rules in force would judge a proposal, without recording it. */
import * as z from "zod";
import { AppError } from "../kit/errors.ts";
import { once } from "../kit/once.ts";
import type { Actor } from "./rules/actor.ts";
import { requireAgentScope } from "./rules/agent_scope.ts";
import { type Change, TIERS } from "./rules/change.ts";
import type { ProposeInput } from "./rules/command.ts";
import type { Intent } from "./rules/intent.ts";
import { listMissingConsents, missingSchema } from "./rules/missing_consents.ts";
import { requireAllowedTarget, countRequiredApprovers } from "./rules/policy.ts";
import { isAgent } from "./rules/principals.ts";
import { requireSchemas } from "./rules/value_limits.ts";
import { gradeProposal, createProposedContent } from "./rules/propose.ts";

export const previewSchema = once(() =>
  z.object({
    refused: z
      .string()
      .nullable()
      .describe("Why it would be rejected, apart from its value and conflicts; null: accepted."),
    tier: z.enum(TIERS).describe("The tier it would have; minor as long as changes of this day are left for it."),
    tier_reason: z.string().nullable().describe("Why it would not be minor, if minor is requested."),
    missing: z.array(missingSchema()).describe("Whose consent it would need; an empty `of` means anybody."),
  }),
);
export type Preview = z.infer<ReturnType<typeof previewSchema>>;

/** Facts that a proposer states; an absent field was not stated. */
export type PreviewedProposal = Omit<ProposeInput, "summary">;

/** Judges a proposal by the rules that judge it when it is filed. Nothing is read or written. */
export function previewProposal(previewed: PreviewedProposal, actor: Actor, intent: Intent): Preview {
  const proposal = { ...previewed, summary: "" };
  // As if no minor change was proposed today, so the daily limit of minor changes is not reached.
  const tierFacts = { input: proposal, minor_today: 0 };
  const content = createProposedContent(tierFacts, { intent, actor });
  const required_approvers = countRequiredApprovers(content.tier, intent.policy);
  const { proposer } = previewed;
  const change = { ...content, required_approvers, approvals: [] as Change["approvals"] } as Change;
  return {
    refused: findRejection(() => {
      if (proposer !== undefined && isAgent(proposer, intent)) requireAgentScope(proposer, proposal, intent);
      requireAllowedTarget(proposal, intent.policy);
      // Without a value and a validator, only a missing KPI is rejected here.
      requireSchemas({ ...proposal, value: undefined }, intent.policy, () => undefined);
    }),
    tier: content.tier,
    tier_reason: gradeProposal(tierFacts, { intent, actor }).tier_reason ?? null,
    missing: listMissingConsents(change, intent),
  };
}

function findRejection(judge: () => void): string | null {
  try {
    judge();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}
