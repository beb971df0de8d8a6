/** Ratings of completed tasks. */
import { addNotice } from "../projections/activity_log.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { AppError } from "../kit/errors.ts";
import { remember } from "../projections/memory.ts";
import type { OperationsDeps } from "./deps.ts";
import { type Feedback, sumRatings, saveTask, readTask } from "./tasks.ts";

/** Maximum number of ratings stored for a task; the oldest are removed first. */
const MAX_RATINGS = 100;

/**
 * Stores a rating. It replaces an earlier one of the same named rater; ratings without a name never replace each other. Errors: 404
 * `task_not_found`, 400 `task_not_completed`.
 */
export async function rateTask(
  { store, clock }: OperationsDeps,
  { task_id, ...rating }: Omit<Feedback, "at"> & { task_id: string },
): Promise<{ task_id: string; feedback: Feedback; mean_rating: number }> {
  const at = new Date(clock.now()).toISOString();
  const newRating: Feedback = { ...rating, at };
  const isBySameRater = ({ rater }: Feedback): boolean =>
    rater !== null && newRating.rater !== null && normalizeName(rater) === normalizeName(newRating.rater);
  return store.transact(async (tx) => {
    const record = await readTask(tx, task_id);
    const { status, title: taskTitle } = record.task;
    if (status !== "completed")
      throw new AppError("task_not_completed", `${task_id} is ${status}; only a completed task can be rated`, {
        task_id,
        current_status: status,
      });
    const feedback = [...record.task.feedback.filter((other) => !isBySameRater(other)), newRating].slice(-MAX_RATINGS);
    await saveTask(tx, record, { ...record, task: { ...record.task, feedback } });
    const title = `Task ${task_id} was rated ${newRating.rating} of 5`;
    await addNotice({ store }, tx, { at, kind: "feedback", title, detail: newRating.comment, ref: task_id });
    const text = `${title} (${taskTitle})${newRating.comment === "" ? "" : `: ${newRating.comment}`}`;
    await remember(tx, { kind: "feedback", text, author: newRating.rater, at, ref: task_id });
    return { task_id, feedback: newRating, mean_rating: sumRatings(feedback) / feedback.length };
  });
}
