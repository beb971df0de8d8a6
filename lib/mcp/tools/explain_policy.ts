import * as z from "zod";
import { findActor } from "../../changes/caller.ts";
import { type FindHolds, createHoldFinder } from "../../changes/freeze.ts";
import { KINDS, RISKS, TIERS } from "../../changes/rules/change.ts";
import { listMandates } from "../../changes/mandates/list.ts";
import { type Preview, previewProposal, previewSchema } from "../../changes/preview_proposal.ts";
import { describeRules } from "../../changes/rules/describe_rules.ts";
import { readValuePolicy, valuePolicySchema } from "../../changes/value_policy.ts";
import { flag, line, target as targetField, integer, word } from "../../kit/fields.ts";
import { invalidField } from "../../kit/errors.ts";
import { ABOUT_TEXTS, aboutTexts } from "../change_status.ts";
import { createTool, type ToolCall } from "../tool.ts";

const inputSchema = z.strictObject({
  kind: word(KINDS).optional().describe("With `target`: kind of the change."),
  target: targetField().optional().describe("Target of the change."),
  tenant_id: line(200)
    .optional()
    .describe("The tenant of the change; absent: rules for some tenants only are left out."),
  tier: word(TIERS).optional().describe("The requested tier."),
  risk: word(RISKS).optional().describe("The stated risk."),
  affected_users: integer(0).optional().describe("The stated number of affected users."),
  reversible: flag().optional().describe("The stated reversibility; a minor change must state true."),
  kpi: line(64).optional().describe("The KPI that the gain is about; a rule may require one."),
});

/** The tool that explains the rules in force and previews a proposal. */
export const explainPolicy = createTool(
  {
    name: "explain_policy",
    title: "Explain the policy",
    description:
      "The rules that govern changes, in words. With kind and target, also their result for such a proposal of yours: if it would be rejected, its tier, and the consents that it would need. Nothing is filed.",
    ownReads: true,
    input: inputSchema,
    output: z.object({
      product_id: z.string().describe("The product of the intent."),
      intent_version: z.string().describe("The version of the intent in force."),
      manifest_hash: z.string().describe("SHA-256 of the intent with these rules."),
      rules: z.array(z.string()).describe("Each rule in force, in one sentence."),
      holds: z
        .array(z.string())
        .describe(
          "Reasons that block every apply now, or with target the apply of such a change; notes are in quotes.",
        ),
      preview: previewSchema()
        .nullable()
        .describe("Result of the rules for the proposal; null without kind and target."),
      values: valuePolicySchema()
        .nullable()
        .describe("Schemas and limits for the values of `target`; with `tenant_id` also the numbers allowed now."),
      mandates: z
        .array(z.looseObject({}))
        .describe(
          "Your mandates that have not ended: bounds, state, and remaining room. A proposal within an active mandate is approved immediately.",
        ),
      about_texts: aboutTexts,
    }),
  },
  async (input, call) => {
    const { intent, manifest_hash } = call.deps.product!;
    return {
      product_id: intent.product_id,
      intent_version: intent.version,
      manifest_hash,
      rules: describeRules(intent),
      holds: listHolds(input, await createHoldFinder(call.deps)),
      preview: preview(input, call),
      values: input.target === undefined ? null : await readValuePolicy(call.deps, { ...input, target: input.target }),
      mandates: await listOwnMandates(call),
      about_texts: ABOUT_TEXTS,
    };
  },
);

const MAX_MANDATES = 20;

/** Lists the mandates of the calling agent that have not ended. */
async function listOwnMandates({ deps, identity }: ToolCall): Promise<Record<string, unknown>[]> {
  const { agent } = identity;
  if (agent === undefined || !deps.product!.intent.policy.mandates) return [];
  const { mandates } = await listMandates(deps, { agent, limit: 100 });
  const current = mandates.filter(({ state }) => state === "active" || state === "suspended").slice(0, MAX_MANDATES);
  return current.map(({ signatures: _, missing: __, systems: ___, ...shown }) => ({ ...shown }));
}

const listHolds = ({ target, tenant_id = "" }: z.output<typeof inputSchema>, findHolds: FindHolds): string[] =>
  findHolds(target === undefined ? undefined : { tenant_id, target }).map(({ message }) => message);

function preview(input: z.output<typeof inputSchema>, call: ToolCall): Preview | null {
  const { kind, target, tenant_id = "", ...rest } = input;
  if (kind === undefined && target === undefined) return null;
  if (kind === undefined || target === undefined)
    throw invalidField(kind === undefined ? "kind" : "target", "is needed to preview what the rules would say");
  const proposal = { ...rest, kind, target, tenant_id, proposer: call.identity.agent };
  return previewProposal(proposal, findActor(call), call.deps.product!.intent);
}
