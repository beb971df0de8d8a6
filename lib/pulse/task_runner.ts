/** Runs queued tasks, one at a time. A task whose process died goes back into the queue when its claim has ended. */
import type { PulseDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Store, Tx } from "../store/store.ts";
import { addNotice } from "../follow/growth_log.ts";
import { reportFor } from "./task_report.ts";
import { orderPrefix, saveTask, type Task, taskIn, type TaskRecord } from "./tasks.ts";

/** How long a run may take before others count it as abandoned. */
export const TASK_CLAIM_MS = 60_000;
/** After so many runs that never ended a task fails. */
export const TASK_ATTEMPTS = 3;

/** Runs the first queued task and returns it as it ended; undefined when none is queued. */
export async function runNextTask(deps: PulseDeps): Promise<Task | undefined> {
  const begun = await begin(deps);
  if (!begun) return undefined;
  try {
    return await end(deps, begun, "completed", await reportFor(deps, begun.task));
  } catch (error) {
    deps.log.error("task failed", { task_id: begun.task.task_id, error: String(error), stack: (error as Error).stack });
    const reason =
      error instanceof AppError ? error.message : "the report could not be made; the service's log has the cause";
    return end(deps, begun, "failed", { result: reason, mode: "rules" });
  }
}

/** Takes up what dead processes left running; returns how many tasks. */
export async function takeUpAbandoned(deps: PulseDeps): Promise<number> {
  const { store, clock } = deps;
  let taken = 0;
  for (const taskId of await placesOf(store, "running", 20))
    taken += await store.transact(async (tx) => {
      const record = await taskIn(tx, taskId);
      if (record.task.status !== "running" || clock.now() < (record.claim?.ends ?? 0)) return 0;
      await abandon(deps, tx, record, new Date(clock.now()).toISOString());
      return 1;
    });
  return taken;
}

async function abandon(deps: PulseDeps, tx: Tx, { task, attempts }: TaskRecord, at: string): Promise<void> {
  const before = { task, attempts };
  if (attempts < TASK_ATTEMPTS)
    return saveTask(tx, before, { task: { ...task, status: "queued", started_at: null }, attempts });
  const result = `given up after ${attempts} runs that were interrupted`;
  await saveTask(tx, before, {
    task: { ...task, status: "failed", completed_at: at, result, mode: "rules" },
    attempts,
  });
  await tell(deps, tx, task, at, "failed", result);
}

async function begin(deps: PulseDeps): Promise<TaskRecord | undefined> {
  const { store, clock, owner } = deps;
  await takeUpAbandoned(deps);
  if ((await placesOf(store, "queued", 1)).length === 0) return undefined;
  return store.transact(async (tx) => {
    const [first] = await placesOf(tx, "queued", 1);
    if (first === undefined) return undefined;
    const before = await taskIn(tx, first);
    const now = clock.now();
    const record: TaskRecord = {
      task: { ...before.task, status: "running", started_at: new Date(now).toISOString() },
      attempts: before.attempts + 1,
      claim: { owner, ends: now + TASK_CLAIM_MS },
    };
    await saveTask(tx, before, record);
    return record;
  });
}

/** Commits a result, unless the task was taken up by another meanwhile: then theirs counts. */
async function end(
  deps: PulseDeps,
  { task: { task_id }, attempts, claim }: TaskRecord,
  status: "completed" | "failed",
  result: Pick<Task, "result" | "mode">,
): Promise<Task> {
  return deps.store.transact(async (tx) => {
    const current = await taskIn(tx, task_id);
    if (current.task.status !== "running" || current.attempts !== attempts || current.claim?.owner !== claim?.owner)
      return current.task;
    const completed_at = new Date(deps.clock.now()).toISOString();
    const task: Task = { ...current.task, status, completed_at, ...result };
    await saveTask(tx, current, { task, attempts });
    const detail = status === "failed" ? (result.result ?? "") : "Its report is in the task's result.";
    await tell(deps, tx, task, completed_at, status, detail);
    return task;
  });
}

const tell = (deps: PulseDeps, tx: Tx, { task_id, title }: Task, at: string, status: string, detail: string) =>
  addNotice(deps, tx, {
    at,
    kind: `task_${status}`,
    title: `Task ${task_id} ${status}: ${title}`,
    detail,
    ref: task_id,
  });

async function placesOf(
  reader: Pick<Store | Tx, "list">,
  status: "running" | "queued",
  limit: number,
): Promise<string[]> {
  const prefix = orderPrefix(status);
  return (await reader.list("tasks_order", { prefix, limit })).map(({ value }) => value);
}
