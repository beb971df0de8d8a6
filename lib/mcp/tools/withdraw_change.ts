import * as z from "zod";
import { entrySchema } from "../../audit/entry.ts";
import { decisionFields } from "../../http/decision_declaration.ts";
import { recordDecision } from "../../changes/commands/decide.ts";
import { readReceipt } from "../../changes/replies.ts";
import { readChangeStatus, changeStatusSchema } from "../change_status.ts";
import { createTool } from "../tool.ts";

/** The tool that withdraws a change which the agent proposed. */
export const withdrawChange = createTool(
  {
    name: "withdraw_change",
    title: "Withdraw a change",
    description: "Withdraws a change that you proposed and that still waits for consent. This is final.",
    ownReads: true,
    writes: "again",
    input: z.strictObject({ change_id: decisionFields().change_id, note: decisionFields().note }),
    output: changeStatusSchema.extend({
      audit_entry: entrySchema().describe("The receipt: the entry of the audit log that records it."),
    }),
  },
  async ({ change_id, note }, call) => {
    // Tools that write are called only for agents.
    const withdrawal = { type: "withdraw", name: call.identity.agent!, change_id, note } as const;
    const audit_entry = readReceipt(await recordDecision(call, withdrawal));
    return { ...(await readChangeStatus(call, change_id)), audit_entry };
  },
);
