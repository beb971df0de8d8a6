import { remember } from "../memory/memories.ts";
import type { PulseDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import { sameName } from "../governance/rules/names.ts";
import type { Tx } from "../store/store.ts";
import { addNotice } from "../follow/growth_log.ts";
import { type Feedback, saveTask, taskCounts, taskIn, type TaskRecord } from "./tasks.ts";

/** How many ratings a task keeps; the oldest go first. */
const KEPT = 100;

/** A human's rating of a completed task, 1 to 5. */
export interface FeedbackInput {
  task_id: string;
  rating: number;
  comment: string;
  rater: string | null;
}

/** Keeps a rating; the same named rater again replaces the earlier one. 404 unknown task, 400 `task_not_completed`. */
export async function rateTask(
  { store, clock }: PulseDeps,
  { task_id, rating, comment, rater }: FeedbackInput,
): Promise<{ task_id: string; feedback: Feedback; mean_rating: number }> {
  const at = new Date(clock.now()).toISOString();
  return store.transact(async (tx) => {
    const record = await taskIn(tx, task_id);
    if (record.task.status !== "completed") throw notCompleted(record);
    const given: Feedback = { rating, comment, rater, at };
    const { feedback: before } = record.task;
    const others = before.filter(
      (other) => other.rater === null || rater === null || sameName(other.rater) !== sameName(rater),
    );
    const feedback = [...others, given].slice(-KEPT);
    await saveTask(tx, record, { ...record, task: { ...record.task, feedback } });
    await countRatings(tx, before, feedback);
    const title = `Task ${task_id} was rated ${rating} of 5`;
    await addNotice({ store }, tx, { at, kind: "feedback", title, detail: comment, ref: task_id });
    const text = `${title} (${record.task.title})${comment === "" ? "" : `: ${comment}`}`;
    await remember(tx, { kind: "feedback", text, at, ref: task_id });
    return { task_id, feedback: given, mean_rating: ratingSum(feedback) / feedback.length };
  });
}

async function countRatings(tx: Tx, before: readonly Feedback[], after: readonly Feedback[]): Promise<void> {
  const counts = structuredClone(await taskCounts(tx));
  counts.rated += before.length === 0 ? 1 : 0;
  counts.ratings += after.length - before.length;
  counts.rating_sum += ratingSum(after) - ratingSum(before);
  tx.put("tally", "tasks", counts);
}

const ratingSum = (feedback: readonly Feedback[]): number => feedback.reduce((sum, { rating }) => sum + rating, 0);

const notCompleted = ({ task }: TaskRecord): AppError =>
  new AppError("task_not_completed", `${task.task_id} is ${task.status}; only a completed task can be rated`, {
    task_id: task.task_id,
    current_status: task.status,
  });
