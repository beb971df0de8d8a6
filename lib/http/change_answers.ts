/** The success bodies that several endpoints share; each schema is built at its first use. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { entrySchema } from "../audit/entry.ts";
import { observedValueSchema } from "../changes/rules/moved_value.ts";
import { missingSchema } from "../changes/rules/missing_consents.ts";
import { approvalSchema, changeSchema, RESOLUTIONS, STATUSES } from "../changes/rules/change.ts";

/** A created change with its receipt. */
export const proposalAnswer = once(() =>
  changeSchema()
    .extend({
      conflicts: z.array(z.string()).describe("Ids of other live changes on the same tenant and target."),
      missing: z.array(missingSchema()).describe("Needed consents, by rule."),
      outside: z
        .array(z.record(z.string(), z.string()))
        .optional()
        .describe("Reasons why no mandate of its agent approves it: mandate_id, bound, message."),
      target_spelling: z
        .string()
        .optional()
        .describe("Present if the target is recorded in its first applied spelling."),
      audit_entry: entrySchema(),
    })
    .describe("A recorded change with its receipt."),
);

/** A consent decision with its receipt. */
export const decisionAnswer = once(() =>
  z
    .object({
      change_id: z.string().describe("Id of the change."),
      status: z.enum(STATUSES).describe("Its status after the decision."),
      decision: z.enum(["approved", ...RESOLUTIONS]).describe("The recorded decision."),
      approvals: z.array(approvalSchema()).describe("All consents so far, oldest first."),
      missing: z.array(missingSchema()).optional().describe("After an approval below the quorum: missing consents."),
      change: changeSchema(),
      audit_entry: entrySchema(),
    })
    .describe("A decision that was recorded, with its receipt."),
);

/** An apply or rollback with its receipt, or a dry run, which has none. */
export const operationAnswer = once(() =>
  z
    .object({
      change_id: z.string().describe("Id of the change."),
      status: z.enum(STATUSES).describe("Its status now."),
      dry_run: z.literal(true).optional().describe("Present for a dry run."),
      change: changeSchema(),
      adapter: z
        .object({
          name: z.string().meta({ description: "Which adapter.", examples: ["file"] }),
          result: z.string().meta({ description: "Result in a word.", examples: ["applied"] }),
          detail: z.unknown().optional().describe("Details of the adapter: any JSON."),
          preview: z.unknown().optional().describe("For a dry run: current and future value, any JSON."),
          host: z
            .enum(["applied", "rolled_back", "absent", "unknown"])
            .nullable()
            .optional()
            .describe("For a dry run: state at the host product; null if unavailable."),
          holds: z
            .object({ value: z.unknown().describe("Any JSON.") })
            .nullable()
            .optional()
            .describe("For a dry run: current value; null: none; absent: unknown."),
          sets: z
            .array(z.looseObject({}))
            .optional()
            .describe("Each entry of a plan: tenant_id, target, and the same."),
        })
        .nullable()
        .describe("Result of the host product, or of a dry run; null without adapter."),
      seen: z.array(observedValueSchema()).optional().describe("For a dry run: current values of its places."),
      audit_entry: entrySchema().nullable().describe("The receipt; null for a dry run."),
    })
    .describe("An apply or rollback, or its dry run."),
);
