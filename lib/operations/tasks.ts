/** Tasks: questions and jobs for the service, and the order in which they run. */
import * as z from "zod";
import type { OperationsDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Store, Tx } from "../store/store.ts";
import { type AgeClass, openTaskKey } from "../projections/overdue.ts";

declare module "../store/store.ts" {
  interface Collections {
    tally: Singles<{ tasks: TaskCounts }>;
    tasks: TaskRecord;
    tasks_order: string;
  }
}

/** Statuses in the order of the list of tasks. Stored order keys begin with the index of a status, so the order must not change. */
export const TASK_STATUSES = ["running", "queued", "completed", "failed", "cancelled"] as const;
type TaskStatus = (typeof TASK_STATUSES)[number];
const ENDED_STATUSES = ["completed", "failed", "cancelled"] as const satisfies readonly TaskStatus[];
export const DIMENSIONS = ["E", "M", "R", "N"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** The names of `DIMENSIONS`, in their order. */
const DIMENSION_NAMES = ["effect", "memory", "reliability", "need"];

/** Returns the letter of a dimension by its letter or name, in any case; other text is a label and is returned unchanged. */
export function parseDimension(text: string | null): string | null {
  const name = text?.trim().toLowerCase() ?? "";
  return DIMENSIONS.find((letter, index) => letter.toLowerCase() === name || DIMENSION_NAMES[index] === name) ?? text;
}

/** Names of priorities on the scale of numeric priorities. */
export const PRIORITIES = { low: 1, normal: 2, high: 3, urgent: 4 } as const;
export type Priority = keyof typeof PRIORITIES | number;
/** Largest absolute value of a numeric priority. */
export const PRIORITY_BOUND = 1_000_000;

/** Maximum number of open tasks. */
export const MAX_OPEN_TASKS = 10_000;
/** Stored tasks that have ended; the oldest are removed first. */
export const MAX_ENDED_TASKS = 10_000;

export const feedbackSchema = z
  .object({
    rating: z.number().int().describe("1 to 5."),
    comment: z.string().meta({ description: "Note; may be empty.", examples: ["Short and to the point."] }),
    rater: z
      .string()
      .nullable()
      .meta({ description: "Rater; null if unnamed.", examples: ["ana@acme.example"] }),
    at: z.string().meta({ description: "When.", format: "date-time" }),
  })
  .describe("A rating of the result of a task.");
export type Feedback = z.infer<typeof feedbackSchema>;

export const taskSchema = z
  .object({
    task_id: z
      .string()
      .meta({ description: "Id of the task.", examples: ["tsk_019a8f3e-52cc-7c51-8f0e-6d3f1f6a9b20"] }),
    title: z.string().meta({ description: "The request in a line.", examples: ["Why did churn rise in October?"] }),
    description: z.string().meta({ description: "More of it; may be empty.", examples: [""] }),
    required_dimension: z
      .string()
      .nullable()
      .meta({
        description: "Topic: E, M, R, N or your own label; null if not stated.",
        examples: ["E"],
      }),
    priority: z
      .union([z.enum(["low", "normal", "high", "urgent"]), z.number()])
      .describe("A name, or a number on the scale low 1, normal 2, high 3, urgent 4."),
    status: z.enum(TASK_STATUSES).describe("How far it is."),
    created_at: z.string().meta({ description: "When it was submitted.", format: "date-time" }),
    started_at: z.string().nullable().describe("When it was last begun; null before."),
    completed_at: z.string().nullable().describe("When it ended; null before."),
    result: z.string().nullable().describe("The report as Markdown, or why it failed; null before."),
    mode: z.enum(["rules", "llm"]).nullable().describe("Who worded the result; null before."),
    feedback: z.array(feedbackSchema).describe("Ratings, oldest first."),
  })
  .describe("Something the service was asked to look into, beside changes.");
export type Task = z.infer<typeof taskSchema>;

/** `tasks/<task_id>` */
export interface TaskRecord {
  task: Task;
  /** Number of attempts; a result is committed only under its own number. */
  attempts: number;
  /** The process that runs it; after `ends`, in milliseconds since the epoch, the run counts as abandoned. */
  claim?: { owner: string; ends: number };
}

/** `tally/tasks` */
export interface TaskCounts {
  statuses: Partial<Record<TaskStatus, number>>;
  /** Open tasks by class. */
  open: Partial<Record<AgeClass, number>>;
  rated: number;
  ratings: number;
  rating_sum: number;
}

export const taskStatsSchema = z
  .object({
    queued: z.number().int().describe("Tasks that wait."),
    running: z.number().int().describe("Tasks at work."),
    completed: z.number().int().describe("Tasks with a result."),
    failed: z.number().int().describe("Tasks that failed."),
    rated: z.number().int().describe("Kept tasks with a rating."),
    mean_rating: z.number().nullable().describe("Mean over all ratings, 1 to 5; null without any."),
  })
  .describe("How many tasks there are.");

/** Reads the counts of the stored tasks. */
export const readTaskCounts = async (reader: Pick<Store | Tx, "get">): Promise<TaskCounts> =>
  (await reader.get("tally", "tasks"))?.value ?? { statuses: {}, open: {}, rated: 0, ratings: 0, rating_sum: 0 };

/** Computes the figures that are shown. */
export function computeTaskStats({
  statuses,
  rated,
  ratings,
  rating_sum,
}: TaskCounts): z.infer<typeof taskStatsSchema> {
  const { queued = 0, running = 0, completed = 0, failed = 0 } = statuses;
  return { queued, running, completed, failed, rated, mean_rating: ratings === 0 ? null : rating_sum / ratings };
}

/** Queues a task and returns it. Errors: 503 `too_many_tasks`. */
export async function submitTask(
  { store, clock, ids }: OperationsDeps,
  input: Pick<Task, "title" | "description" | "required_dimension" | "priority">,
): Promise<Task> {
  const now = clock.now();
  const task: Task = {
    task_id: `tsk_${ids.uuid(now)}`,
    ...input,
    status: "queued",
    created_at: new Date(now).toISOString(),
    started_at: null,
    completed_at: null,
    result: null,
    mode: null,
    feedback: [],
  };
  await store.transact(async (tx) => {
    const { queued = 0, running = 0 } = (await readTaskCounts(tx)).statuses;
    if (queued + running >= MAX_OPEN_TASKS)
      throw new AppError(
        "too_many_tasks",
        `${MAX_OPEN_TASKS} tasks are open, which is the maximum; submit it again when some have run`,
        {},
        { "retry-after": "60" },
      );
    await saveTask(tx, undefined, { task, attempts: 0 });
  });
  return task;
}

/** Stores a task, and updates its position in the order and the counts. */
export async function saveTask(tx: Tx, before: TaskRecord | undefined, after: TaskRecord): Promise<void> {
  const { task } = after;
  const counts = structuredClone(await readTaskCounts(tx));
  if (before) count(counts, before.task, -1);
  count(counts, task, 1);
  tx.put("tasks", task.task_id, after);
  if (before?.task.status !== task.status) {
    if (before) tx.delete("tasks_order", orderKey(before.task));
    tx.put("tasks_order", orderKey(task), task.task_id);
    const indexKey = openTaskKey(findAgeClass(task), task.task_id);
    if (isOpen(task)) tx.put("tasks_open", indexKey, task.created_at);
    else tx.delete("tasks_open", indexKey);
    await forgetOldest(tx, counts);
  }
  tx.put("tally", "tasks", counts);
}

function count(counts: TaskCounts, task: Task, by: 1 | -1): void {
  const { status, feedback } = task;
  const ageClass = findAgeClass(task);
  counts.statuses[status] = (counts.statuses[status] ?? 0) + by;
  if (isOpen(task)) counts.open[ageClass] = (counts.open[ageClass] ?? 0) + by;
  if (feedback.length > 0) counts.rated += by;
  counts.ratings += by * feedback.length;
  counts.rating_sum += by * sumRatings(feedback);
}

export const sumRatings = (feedback: readonly Feedback[]): number =>
  feedback.reduce((sum, { rating }) => sum + rating, 0);

/** Deletes the task that ended first if too many have ended, and removes it from the counts. */
async function forgetOldest(tx: Tx, counts: TaskCounts): Promise<void> {
  const ended = ENDED_STATUSES.reduce((sum, status) => sum + (counts.statuses[status] ?? 0), 0);
  if (ended <= MAX_ENDED_TASKS) return;
  const oldestFirst = { limit: 1, reverse: true };
  const rows = await Promise.all(
    ENDED_STATUSES.map((status) => tx.list("tasks_order", { ...oldestFirst, prefix: orderPrefix(status) })),
  );
  const oldest = (await Promise.all(rows.flat().map(({ value }) => readTask(tx, value))))
    .map(({ task }) => task)
    .reduce((first, other) => (other.completed_at! < first.completed_at! ? other : first));
  tx.delete("tasks", oldest.task_id);
  tx.delete("tasks_order", orderKey(oldest));
  count(counts, oldest, -1);
}

/** Returns true for a task that has not ended. */
const isOpen = ({ status }: Task): boolean => status === "queued" || status === "running";

/** Returns the class of a priority; a number has that of the nearest name below it, or else that of `low`. */
function findAgeClass({ priority }: Pick<Task, "priority">): AgeClass {
  const rank = priorityRank(priority);
  if (rank >= PRIORITIES.urgent) return "tasks_urgent";
  if (rank >= PRIORITIES.high) return "tasks_high";
  return rank >= PRIORITIES.normal ? "tasks_normal" : "tasks_low";
}

const priorityRank = (priority: Priority): number => (typeof priority === "number" ? priority : PRIORITIES[priority]);

/** Returns the prefix of the order keys of a status. */
export const orderPrefix = (status: TaskStatus): string => `${TASK_STATUSES.indexOf(status)}:`;

/** Returns the order key: running tasks first, then queued ones by priority and age, then ended ones, newest first. */
function orderKey({ status, priority, task_id, completed_at }: Task): string {
  if (status === "running") return orderPrefix(status) + task_id;
  const rank =
    status === "queued" ? PRIORITY_BOUND - priorityRank(priority) : Number.MAX_SAFE_INTEGER - Date.parse(completed_at!);
  // Six decimals, since a priority may be a fraction.
  return `${orderPrefix(status)}${rank.toFixed(6).padStart(24, "0")}:${task_id}`;
}

/** Reads the record of a task. Errors: 404 `task_not_found`. */
export async function readTask(reader: Pick<Store | Tx, "get">, taskId: string): Promise<TaskRecord> {
  const stored = await reader.get("tasks", taskId);
  if (!stored) throw new AppError("task_not_found", `there is no task ${taskId}`, { task_id: taskId });
  return stored.value;
}

/** Reads tasks in order; `next` is the `after` of the next page. Errors: 404 `task_not_found` for `after`. */
export async function readTaskPage(
  store: Store,
  query: { limit: number; status?: TaskStatus | undefined; after?: string | undefined },
): Promise<{ tasks: Task[]; stats: z.infer<typeof taskStatsSchema>; next: string | null }> {
  const prefix = query.status === undefined ? "" : orderPrefix(query.status);
  const from = query.after === undefined ? "" : orderKey((await readTask(store, query.after)).task);
  // The task of `after` may have another status: then the page begins at the first task of the requested one, if that comes later.
  const after = from > prefix ? from : prefix;
  const rows = await store.list("tasks_order", { prefix, after, limit: query.limit + 1 });
  const ids = rows.slice(0, query.limit).map(({ value }) => value);
  const records = await store.getMany("tasks", ids);
  const tasks = records.flatMap((record) => (record ? [record.value.task] : []));
  const next = rows.length > query.limit ? (tasks.at(-1)?.task_id ?? null) : null;
  return { tasks, stats: computeTaskStats(await readTaskCounts(store)), next };
}
