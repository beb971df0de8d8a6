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
  kind: word(KINDS).optional().describe("With `target`: what kind of change it would be."),
  target: targetField().optional().describe("Target of the change."),
  tenant_id: line(200)
    .optional()
    .describe("The tenant of the change; absent: rules for some tenants only are left out."),
  tier: word(TIERS).optional().describe("The tier that would be asked for."),
  risk: word(RISKS).optional().describe("The risk that would be stated."),
  affected_users: integer(0).optional().describe("How many users would be stated to be reached."),
  reversible: flag()
    .optional()
    .describe("What would be stated: whether it can be undone; a minor change must state true."),
});

/** The tool that explains the rules in force and previews a proposal. */
export const explainPolicy = createTool(
  {
    name: "explain_policy",
    title: "Explain the policy",
    description:
      "The rules that govern changes, in words. With kind and target, also what they would say to such a proposal of yours: whether it would be refused, its tier, and whose consent it would need. Nothing is filed.",
    ownReads: true,
    input: inputSchema,
    output: z.object({
      product_id: z.string().describe("The product that the intent is for."),
      intent_version: z.string().describe("The version of the intent in force."),
      manifest_hash: z.string().describe("SHA-256 of the intent that these rules are from."),
      rules: z.array(z.string()).describe("Each rule in force, in one sentence."),
      holds: z
        .array(z.string())
        .describe("What blocks every apply now, or with target that of such a change; a note on it is in quotes."),
      preview: previewSchema()
        .nullable()
        .describe("What the rules would say to the proposal; null where none was described."),
      values: valuePolicySchema()
        .nullable()
        .describe("Schemas and limits for the values of `target`; with `tenant_id` also the numbers allowed now."),
      mandates: z
        .array(z.looseObject({}))
        .describe(
          "Your mandates that have not ended: bounds, state, and the room that is left. Inside an active one a proposal is approved at once.",
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
