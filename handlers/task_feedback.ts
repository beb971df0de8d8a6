import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { changeId, freeText, personName, integer } from "../lib/kit/fields.ts";
import { requirePerson } from "../lib/changes/caller.ts";
import { answer } from "../lib/http/answer.ts";
import { rateTask } from "../lib/operations/task_feedback.ts";
import { feedbackSchema } from "../lib/operations/tasks.ts";

/** POST /api/task/feedback: records a person's rating of a completed task. */
export const taskFeedback = endpoint(
  {
    method: "POST",
    path: "/api/task/feedback",
    summary: "Rate a completed task",
    operation: "rateTask",
    description: "Rates the result of a completed task, 1 to 5; a later rating replaces the earlier one.",
    example: { task_id: "tsk_01980a3f-52cc-7c51-8f0e-6d3f1f6a9b20", rating: 4, comment: "Short and to the point." },
    token: "protect_all",
    input: z.object({
      task_id: changeId().describe("The completed task."),
      rating: integer(1, 5).describe("1 to 5, 5 being best."),
      comment: freeText(4000).default("").describe("Note."),
      // A form sends an empty field where no rater is named.
      rater: z
        .preprocess((value) => (value === "" ? undefined : value), personName().optional())
        .describe("Rater; absent: the proxy's person."),
    }),
    output: z.object({
      task_id: z.string().meta({ description: "The task.", examples: ["tsk_019a8f3e-52cc-7c51-8f0e-6d3f1f6a9b20"] }),
      feedback: feedbackSchema,
      mean_rating: z.number().describe("Mean over the ratings of this task."),
    }),
    errors: ["task_not_found", "task_not_completed", "identity_mismatch"],
  },
  async ({ rater, ...input }, call: Call<ChangesDeps>) => {
    // A rating replaces the rater's earlier one, so behind a trusted proxy the rater must be the caller.
    if (rater !== undefined) requirePerson(call, "rater", rater);
    const named = rater ?? (call.identity.person || null);
    return answer(await rateTask(call.deps, { ...input, rater: named }));
  },
);
