import * as z from "zod";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { changeId, freeText, personName, wholeNumber } from "../lib/http/form.ts";
import { requirePerson } from "../lib/governance/caller.ts";
import { answer } from "../lib/http/answer.ts";
import { rateTask } from "../lib/pulse/task_feedback.ts";
import { feedbackSchema } from "../lib/pulse/tasks.ts";

/** POST /api/task/feedback: a human's rating of a completed task. */
export const taskFeedback = endpoint(
  {
    method: "POST",
    path: "/api/task/feedback",
    summary: "Rate a completed task",
    token: "protect_all",
    input: z.object({
      task_id: changeId,
      rating: wholeNumber(1, 5),
      comment: freeText(4000).default(""),
      rater: z.preprocess((given) => (given === "" ? undefined : given), personName.optional()),
    }),
    output: z.object({
      task_id: z.string(),
      feedback: feedbackSchema,
      /** Of this task. */
      mean_rating: z.number(),
    }),
    errors: ["task_not_found", "task_not_completed", "identity_mismatch"],
  },
  async ({ rater, ...input }, call: Call<GovernanceDeps>) => {
    // A rating replaces the earlier one of its rater: under a trusted proxy nobody rates in another's name.
    if (rater !== undefined) requirePerson(call, "rater", rater);
    const named = rater ?? (call.person?.normalize("NFKC").trim() || null);
    return answer(await rateTask(call.deps, { ...input, rater: named }));
  },
);
