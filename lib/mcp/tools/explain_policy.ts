import * as z from "zod";
import { findActor } from "../../changes/caller.ts";
import { type FindHolds, heldNow } from "../../changes/freeze.ts";
import { type Change, KINDS, RISKS, TIERS } from "../../changes/rules/change.ts";
import { requireAgentScope } from "../../changes/rules/agent_scope.ts";
import { missingConsents, missingSchema } from "../../changes/rules/missing.ts";
import { refuseForbiddenTarget, requiredApprovers } from "../../changes/rules/policy.ts";
import { grade, proposedContent } from "../../changes/rules/propose.ts";
import { rulesInForce } from "../../changes/rules/rules_in_force.ts";
import { valuePolicy, valuePolicySchema } from "../../changes/value_policy.ts";
import { flag, line, target, wholeNumber, word } from "../../kit/fields.ts";
import { invalidField } from "../../kit/errors.ts";
import { refusalOf } from "../refusal.ts";
import { ABOUT_TEXTS, aboutTexts } from "../standing.ts";
import { tool, type ToolCall } from "../tool.ts";

const stated = z.strictObject({
  kind: word(KINDS).optional().describe("With `target`: what kind of change it would be."),
  target: target().optional().describe("Target of the change."),
  tenant_id: line(200)
    .optional()
    .describe("The tenant of the change; absent: rules for some tenants only are left out."),
  tier: word(TIERS).optional().describe("The tier that would be asked for."),
  risk: word(RISKS).optional().describe("The risk that would be stated."),
  affected_users: wholeNumber(0).optional().describe("How many users would be stated to be reached."),
  reversible: flag()
    .optional()
    .describe("What would be stated: whether it can be undone; a minor change must state true."),
});

const foretoldSchema = z.object({
  refused: z
    .string()
    .nullable()
    .describe(
      "Why its target would be refused outright; null: it would not. Other live changes on it are not looked at.",
    ),
  tier: z.enum(TIERS).describe("The tier it would have; a minor one as long as today's number of them is not used up."),
  tier_reason: z
    .string()
    .nullable()
    .describe("Why it would not be minor, where minor would be asked for; null: it would be, or nobody would ask."),
  missing: z.array(missingSchema()).describe("Whose consent it would need; an empty `of` means anybody."),
});

/** The rules in force, and what they would say to a proposal. */
export const explainPolicy = tool(
  {
    name: "explain_policy",
    title: "Explain the policy",
    description:
      "The rules that govern changes, in words. With kind and target, also what they would say to such a proposal of yours: whether it would be refused, its tier, and whose consent it would need. Nothing is filed.",
    ownReads: true,
    input: stated,
    output: z.object({
      product_id: z.string().describe("The product that the intent is for."),
      intent_version: z.string().describe("The version of the intent in force."),
      manifest_hash: z.string().describe("SHA-256 of the intent that these rules are from."),
      rules: z.array(z.string()).describe("Each rule in force, in one sentence."),
      holds: z
        .array(z.string())
        .describe("What blocks every apply now, or with target that of such a change; a note on it is in quotes."),
      foretold: foretoldSchema
        .nullable()
        .describe("What the rules would say to the proposal; null where none was described."),
      values: valuePolicySchema()
        .nullable()
        .describe("Schemas and limits for the values of `target`; with `tenant_id` also the numbers allowed now."),
      about_texts: aboutTexts,
    }),
  },
  async (input, call) => {
    const { intent, manifest_hash } = call.deps.product!;
    return {
      product_id: intent.product_id,
      intent_version: intent.version,
      manifest_hash,
      rules: rulesInForce(intent),
      holds: holdsFor(input, await heldNow(call.deps)),
      foretold: foretold(input, call),
      values: input.target === undefined ? null : await valuePolicy(call.deps, { ...input, target: input.target }),
      about_texts: ABOUT_TEXTS,
    };
  },
);

const holdsFor = ({ target: changed, tenant_id = "" }: z.output<typeof stated>, find: FindHolds): string[] =>
  find(changed === undefined ? undefined : { tenant_id, target: changed }).map(({ message }) => message);

function foretold(input: z.output<typeof stated>, call: ToolCall): z.infer<typeof foretoldSchema> | null {
  const { kind, target: changed, tenant_id = "", ...rest } = input;
  if (kind === undefined && changed === undefined) return null;
  if (kind === undefined || changed === undefined)
    throw invalidField(kind === undefined ? "kind" : "target", "is needed to foretell what the rules would say");
  const { intent } = call.deps.product!;
  const proposal = { ...rest, kind, target: changed, tenant_id, summary: "", proposer: call.identity.agent };
  const graded = [
    { input: proposal, minor_today: 0 },
    { intent, actor: findActor(call) },
  ] as const;
  const content = proposedContent(...graded);
  const required_approvers = requiredApprovers(content.tier, intent.policy);
  return {
    refused: refusalOf(() => {
      if (proposal.proposer !== undefined) requireAgentScope(proposal.proposer, proposal, intent);
      refuseForbiddenTarget(proposal, intent.policy);
    }),
    tier: content.tier,
    tier_reason: grade(...graded).tier_reason ?? null,
    missing: missingConsents(
      { ...content, required_approvers, approvals: [] as Change["approvals"] } as Change,
      intent,
    ),
  };
}
