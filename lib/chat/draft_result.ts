/** Schema of drafts in a chat reply. */
import * as z from "zod";

/** A draft in a chat reply. `content` has the fields of the POST that would submit the draft. */
export const draftResultSchema = z.object({
  kind: z.enum(["change", "task"]).describe("`change`: a drafted proposal. `task`: a suggested task."),
  stored: z.boolean().describe("True if the reply stored the change; a task is never stored."),
  draft_id: z
    .string()
    .nullable()
    .meta({
      description: "Send it as confirm_draft to store the draft; null if it cannot be confirmed.",
      examples: ["draft_0000000000000007"],
    }),
  change_id: z.string().nullable().describe("Id of the stored change; null when nothing was stored."),
  reason: z
    .string()
    .nullable()
    .meta({ description: "Why it was not stored; null when it was.", examples: ["the caller may not write"] }),
  content: z.record(z.string(), z.unknown()).describe("The fields of the POST that would submit it."),
});
export type DraftResult = z.infer<typeof draftResultSchema>;
