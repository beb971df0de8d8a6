import * as z from "zod";
import { entrySchema } from "../../audit/entry.ts";
import { proposalFields } from "../../changes/proposal_fields.ts";
import { submitProposal } from "../../changes/submit_proposal.ts";
import type { IdempotencyKey } from "../../http/idempotency.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { standing, standingSchema } from "../standing.ts";
import { tool, type ToolCall } from "../tool.ts";

const key = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters")
  .describe("The same key with the same fields files nothing twice, and is answered alike, for 24 hours.");

/** Any JSON, with all its types by name: a client sends what has no type as text. */
const anyJson = z
  .unknown()
  .optional()
  .meta({
    type: ["boolean", "number", "string", "object", "array", "null"],
    items: {},
    description: 'What the target is set to, in its own JSON type: false, 49 and {"on":true} are no text.',
  });

/** Files a proposal under the agent's own name. */
export const proposeChange = tool(
  {
    name: "propose_change",
    title: "Propose a change",
    description:
      "Proposes a change to the product. Nothing is changed by it: people consent to it or not, on the page that the answer names. You are the proposer. Say in the rationale why, and state reach, risk and reversibility honestly: consent binds to exactly these fields.",
    writes: "once",
    input: (deps) => {
      const { proposer: _, ...fields } = proposalFields(deps);
      return z.strictObject({ ...fields, value: anyJson, idempotency_key: key.optional() });
    },
    output: standingSchema.extend({
      conflicts: z.array(z.string()).describe("Other live changes of the same tenant and target."),
      audit_entry: entrySchema().describe("The receipt: the entry of the audit log that records the proposal."),
    }),
  },
  async ({ idempotency_key, ...proposal }, call) => {
    const answered = await submitProposal({ ...call, idempotency: keyOf(call, idempotency_key, proposal) }, proposal);
    const { change_id, conflicts, audit_entry } = JSON.parse(answered.text);
    return { ...(await standing(call, change_id)), conflicts, audit_entry };
  },
);

/** A retry in a message of its own has another id; what is asked for is in the fields. */
function keyOf(
  { deps: { sha256 }, agent }: ToolCall,
  given: string | undefined,
  proposal: object,
): IdempotencyKey | undefined {
  if (given === undefined) return undefined;
  const scope = sha256(JSON.stringify(["mcp", "propose_change", agent, given]));
  return { scope, body: sha256(canonicalJson(proposal)) };
}
