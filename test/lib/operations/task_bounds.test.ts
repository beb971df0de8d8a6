/** Limits on the number of stored tasks. */
import { expect, test } from "vitest";
import { MAX_ENDED_TASKS, MAX_OPEN_TASKS, saveTask, type Task } from "../../../lib/operations/tasks.ts";
import { writeInBatches } from "../../support/write_in_batches.ts";
import { openOperations, type OperationsService } from "./operations_service.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");

/** Stores `count` queued tasks; `makeFields` returns the fields of a task that differ. */
async function storeTasks(
  { deps: { store } }: OperationsService,
  count: number,
  makeFields: (index: number) => Partial<Task>,
) {
  await writeInBatches(store, count, (tx, index) => {
    const task: Task = {
      task_id: `tsk_${String(index).padStart(6, "0")}`,
      title: "t",
      description: "",
      required_dimension: "N",
      priority: "normal",
      status: "queued",
      created_at: new Date(START).toISOString(),
      started_at: null,
      completed_at: null,
      result: null,
      mode: null,
      feedback: [],
      ...makeFields(index),
    };
    return saveTask(tx, undefined, { task, attempts: 0 });
  });
}

const endedFields = (status: "completed" | "failed") => (index: number) => ({
  status,
  completed_at: new Date(START + index * 1000).toISOString(),
});

test("beyond the limit, the task that ended first is removed with its rating", async () => {
  const service = await openOperations();
  const { store } = service.deps;
  await storeTasks(service, MAX_ENDED_TASKS - 1, (index) => endedFields(index === 1 ? "failed" : "completed")(index));
  const rate = (task_id: string, rating: number) => service.post("/api/task/feedback", { task_id, rating });
  expect((await rate("tsk_000000", 1)).status).toBe(200);
  expect((await rate("tsk_000002", 4)).status).toBe(200);
  const submitAndRun = async () => {
    await service.post("/api/tasks", { title: "one more", required_dimension: "N" });
    await service.post("/api/action/run-now", { action: "run_next_task" });
  };
  const stats = async () => (await service.get("/api/state")).body.tasks;

  // The first run reaches the limit, the second removes the completed task 0, and the third the failed task 1.
  await submitAndRun();
  expect(await stats()).toMatchObject({ completed: MAX_ENDED_TASKS - 1, failed: 1, rated: 2, mean_rating: 2.5 });
  await submitAndRun();
  expect(await stats()).toMatchObject({ completed: MAX_ENDED_TASKS - 1, failed: 1, rated: 1, mean_rating: 4 });
  expect((await rate("tsk_000000", 5)).body.code).toBe("task_not_found");
  await submitAndRun();
  expect(await stats()).toMatchObject({ completed: MAX_ENDED_TASKS, failed: 0, rated: 1, mean_rating: 4 });

  const stored = await store.list("tasks", { limit: 2 * MAX_ENDED_TASKS });
  const order = await store.list("tasks_order", { limit: 2 * MAX_ENDED_TASKS });
  expect(stored).toHaveLength(MAX_ENDED_TASKS);
  expect(order.map(({ value }) => value).sort()).toEqual(stored.map(({ id }) => id));
  expect(stored.map(({ id }) => id)).not.toContain("tsk_000001");
  const ratings = stored.flatMap(({ value }) => value.task.feedback);
  expect(ratings.map(({ rating }) => rating)).toEqual([4]);
});

test("no task is accepted while the maximum number of tasks is open", async () => {
  const service = await openOperations();
  await storeTasks(service, MAX_OPEN_TASKS, () => ({}));
  const submit = () => service.post("/api/tasks", { title: "one more" });
  const rejected = await submit();
  expect([rejected.status, rejected.body.code]).toEqual([503, "too_many_tasks"]);
  expect(rejected.headers.get("retry-after")).toBe("60");
  expect((await service.get("/api/state")).body.tasks.queued).toBe(MAX_OPEN_TASKS);
  await service.post("/api/action/run-now", { action: "run_next_task" });
  // The run ended one task, so there is room for one more.
  expect((await submit()).status).toBe(201);
  expect((await submit()).status).toBe(503);
});
