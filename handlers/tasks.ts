import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { changeId, finiteNumber, freeText, line, integer, word } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import {
  parseDimension,
  PRIORITIES,
  PRIORITY_BOUND,
  submitTask,
  TASK_STATUSES,
  readTaskPage,
  taskSchema,
  taskStatsSchema,
} from "../lib/operations/tasks.ts";

/** GET /api/tasks: running tasks, then queued ones by priority and age, then ended ones, newest first. */
export const tasks = endpoint(
  {
    method: "GET",
    path: "/api/tasks",
    summary: "Tasks in running order",
    operation: "listTasks",
    description: "Tasks: running ones first, then queued ones by priority and age, then those that ended.",
    example: { status: "queued", limit: 20 },
    input: z.object({
      status: word(TASK_STATUSES).optional().describe("Only tasks of this status."),
      limit: integer(1, 500).default(100).describe("Maximum number of tasks."),
      after: changeId().optional().describe("Only tasks behind this id: next of the page before."),
    }),
    output: z.object({
      tasks: z.array(taskSchema).describe("Tasks in running order."),
      stats: taskStatsSchema.describe("Number of tasks by status."),
      next: z.string().nullable().describe("after of the next page; null at the end."),
    }),
  },
  async (input, { deps }: Call<ChangesDeps>) => answer(await readTaskPage(deps.store, input)),
);

const priorityName = word(Object.keys(PRIORITIES) as [keyof typeof PRIORITIES, ...(keyof typeof PRIORITIES)[]]);
const priorityNumber = finiteNumber().refine((rank) => Math.abs(rank) <= PRIORITY_BOUND);
const normalizePriority = (value: unknown): unknown => (typeof value === "string" ? value.trim().toLowerCase() : value);

/** Treats an empty form field as absent. */
const optional = <T extends z.ZodType>(field: T) =>
  z.preprocess((value) => (value === "" ? undefined : value), field.optional());

/** POST /api/tasks: queues a task for the service. */
export const taskSubmit = endpoint(
  {
    method: "POST",
    path: "/api/tasks",
    summary: "Submit a task",
    operation: "submitTask",
    description: "Queues a task; a cycle runs at most one and keeps its report as the result.",
    example: { title: "Why did churn rise in October?", priority: "high" },
    token: "protect_all",
    input: z.object({
      title: line(200).describe("The request in a line."),
      description: freeText(8000).default("").describe("Details of the request."),
      required_dimension: optional(line(100)).describe("Subject: E, M, R, N, their names, or a label of your own."),
      priority: optional(
        z.preprocess(
          normalizePriority,
          z.union(
            [priorityName, priorityNumber],
            "must be low, normal, high, urgent or a number within a million of 0",
          ),
        ),
      ).describe("low, normal, high, urgent, or 1 to 4. Absent: normal."),
    }),
    output: taskSchema,
    success: 201,
    errors: ["unauthorized", "too_many_tasks"],
  },
  async ({ title, description, required_dimension, priority }, { deps }: Call<ChangesDeps>) => {
    const task = await submitTask(deps, {
      title,
      description,
      required_dimension: parseDimension(required_dimension ?? null),
      priority: priority ?? "normal",
    });
    return answer(task, 201);
  },
);
