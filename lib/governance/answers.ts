/** The success bodies that several endpoints share. */
import * as z from "zod";
import { entrySchema } from "../audit/entry.ts";
import { approvalSchema, changeSchema, RESOLUTIONS, STATUSES } from "./rules/change.ts";

/** A created change with its receipt. */
export const proposalAnswer = changeSchema.extend({
  /** Other live changes of the same tenant and target. */
  conflicts: z.array(z.string()),
  audit_entry: entrySchema,
});

/** A consent decision with its receipt. */
export const decisionAnswer = z.object({
  change_id: z.string(),
  status: z.enum(STATUSES),
  decision: z.enum(["approved", ...RESOLUTIONS]),
  approvals: z.array(approvalSchema),
  change: changeSchema,
  audit_entry: entrySchema,
});

/** An apply or rollback with its receipt; `adapter` is `null` without one. A dry run has no entry, and `host` as it is now. */
export const operationAnswer = z.object({
  change_id: z.string(),
  status: z.enum(STATUSES),
  dry_run: z.literal(true).optional(),
  change: changeSchema,
  adapter: z
    .object({
      name: z.string(),
      result: z.string(),
      detail: z.unknown().optional(),
      preview: z.unknown().optional(),
      host: z.enum(["applied", "rolled_back", "absent", "unknown"]).nullable().optional(),
    })
    .nullable(),
  audit_entry: entrySchema.nullable(),
});
