import * as z from "zod";
import { entrySchema } from "../../audit/entry.ts";
import { proposalChecks, proposalFields } from "../../http/proposal_fields.ts";
import { propose } from "../../changes/commands/propose.ts";
import { MAX_ENTRIES, MIN_ENTRIES } from "../../changes/rules/require_plan.ts";
import type { ProposalResult } from "../../changes/file_proposal.ts";
import { parseMandateName } from "../../changes/rules/mandate.ts";
import { isReplayed, readReceipt } from "../../changes/replies.ts";
import { proposalReply } from "../../http/change_replies.ts";
import { createStoredReplies } from "../../http/replies.ts";
import type { IdempotencyKey } from "../../changes/idempotency.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { readChangeStatus, changeStatusSchema } from "../change_status.ts";
import { createTool, type ToolCall } from "../tool.ts";

const keyField = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters")
  .describe("The same key with the same fields files nothing twice, and is answered alike, for 24 hours.");

/** Any JSON value. All types are named, since clients send a value without a type as text. */
const anyJson = z
  .unknown()
  .optional()
  .meta({
    type: ["boolean", "number", "string", "object", "array", "null"],
    items: {},
    description: 'What the target is set to, in its own JSON type: false, 49 and {"on":true} are no text.',
  });

/** The tool that proposes a change in the agent's name. */
export const proposeChange = createTool(
  {
    name: "propose_change",
    title: "Propose a change",
    description:
      "Proposes a change to the product. Nothing is changed by it: people consent to it or not, on the page that the answer names, or a mandate that they signed does. You are the proposer. Say in the rationale why, and state reach, risk and reversibility honestly: consent binds to exactly these fields.",
    ownReads: true,
    writes: "once",
    input: (deps) => {
      const { proposer: _, sets, ...fields } = proposalFields(deps);
      const entry = sets.unwrap().element.extend({ value: anyJson });
      const entries = z.array(entry).min(MIN_ENTRIES).max(MAX_ENTRIES).optional().describe(sets.description!);
      return z
        .strictObject({ ...fields, value: anyJson, sets: entries, idempotency_key: keyField.optional() })
        .check(...proposalChecks());
    },
    output: changeStatusSchema.extend({
      mandate: z
        .string()
        .nullable()
        .describe("The mandate inside which it lies, and which approved it; null: people decide."),
      outside: z
        .array(z.record(z.string(), z.string()))
        .describe("For each of your active or suspended mandates the bound that it is outside of, and why."),
      conflicts: z.array(z.string()).describe("Other live changes of the same tenant and target."),
      audit_entry: entrySchema().describe("The receipt: the entry of the audit log that records the proposal."),
    }),
  },
  async ({ idempotency_key, ...proposal }, call) => {
    const key = idempotency_key && requestKey(call, idempotency_key, proposal);
    const proposed = await propose(
      { ...call, replies: key ? createStoredReplies(key, proposalReply) : undefined },
      proposal,
    );
    const audit_entry = readReceipt(proposed);
    const { conflicts, outside = [] } = isReplayed(proposed)
      ? (proposed.replayed as unknown as Pick<ProposalResult, "conflicts" | "outside">)
      : proposed;
    // A mandate that approved the proposal is the approver in its entry.
    const mandate = parseMandateName((JSON.parse(audit_entry.detail) as { approver?: string }).approver) ?? null;
    const result = { mandate, outside: outside as unknown as Record<string, string>[], conflicts, audit_entry };
    return { ...(await readChangeStatus(call, audit_entry.change_id)), ...result };
  },
);

/** Returns the idempotency key of a request, computed from its fields and not from its message, which differs in a retry. */
function requestKey({ deps: { sha256 }, identity }: ToolCall, key: string, proposal: object): IdempotencyKey {
  const scope = sha256(JSON.stringify(["mcp", "propose_change", identity.agent, key]));
  return { scope, body: sha256(canonicalJson(proposal)) };
}
