import * as z from "zod";

/** Result of a reply other than its text. `content` holds the fields of the POST that would submit it. */
export const draftResultSchema = z.object({
  kind: z.enum(["change", "task"]).describe("A change is a proposal; a task is a suggestion."),
  stored: z.boolean().describe("True once the change is on record; a task never is."),
  draft_id: z
    .string()
    .nullable()
    .meta({
      description: "Its confirm_draft; null where it has none.",
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
