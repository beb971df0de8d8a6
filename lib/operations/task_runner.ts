/** Runs queued tasks, one at a time. A task whose process has ended returns to the queue when its claim expires. */
import type { OperationsDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Store, Tx } from "../store/store.ts";
import { addNotice } from "../projections/activity_log.ts";
import { writeTaskReport } from "./task_report.ts";
import { orderPrefix, saveTask, type Task, readTask, type TaskRecord } from "./tasks.ts";

/** Time after which a run counts as abandoned. */
export const TASK_CLAIM_MS = 60_000;
/** Abandoned runs after which a task fails. */
const MAX_TASK_ATTEMPTS = 3;
/** Maximum number of running tasks that are checked for being abandoned when the next one starts; each process runs one. */
const MAX_ABANDONED_PER_RUN = 4;

/** Runs the first queued task and returns it with its result; undefined if none is queued. */
export async function runNextTask(deps: OperationsDeps): Promise<Task | undefined> {
  const claimed = await claimNext(deps);
  if (!claimed) return undefined;
  try {
    return await commitResult(deps, claimed, "completed", await writeTaskReport(deps, claimed.task));
  } catch (error) {
    deps.log.error("task failed", {
      task_id: claimed.task.task_id,
      error: String(error),
      stack: (error as Error).stack,
    });
    const reason =
      error instanceof AppError ? error.message : "the report could not be made; the service's log has the cause";
    return commitResult(deps, claimed, "failed", { result: reason, mode: "rules" });
  }
}

/** Claims the first queued task, after abandoned tasks have returned to the queue. */
async function claimNext({ store, clock, owner }: OperationsDeps): Promise<TaskRecord | undefined> {
  const [open] = await store.list("tasks_order", { limit: 1, keysOnly: true });
  // Ended tasks come last in the order.
  if (!open || open.id >= orderPrefix("completed")) return undefined;
  return store.transact(async (tx) => {
    const now = clock.now();
    const at = new Date(now).toISOString();
    for (const running of await readFirst(tx, "running", MAX_ABANDONED_PER_RUN))
      if (now >= (running.claim?.ends ?? 0)) await requeueOrFail(store, tx, running, at);
    const [before] = await readFirst(tx, "queued", 1);
    if (!before) return undefined;
    const record: TaskRecord = {
      task: { ...before.task, status: "running", started_at: at },
      attempts: before.attempts + 1,
      claim: { owner, ends: now + TASK_CLAIM_MS },
    };
    await saveTask(tx, before, record);
    return record;
  });
}

async function readFirst(tx: Tx, status: "running" | "queued", limit: number): Promise<TaskRecord[]> {
  const rows = await tx.list("tasks_order", { prefix: orderPrefix(status), limit });
  return Promise.all(rows.map(({ value }) => readTask(tx, value)));
}

/** Returns an abandoned task to the queue, or gives it up. */
async function requeueOrFail(store: Store, tx: Tx, before: TaskRecord, at: string): Promise<void> {
  const { task, attempts } = before;
  if (attempts < MAX_TASK_ATTEMPTS)
    return saveTask(tx, before, { task: { ...task, status: "queued", started_at: null }, attempts });
  const result = `given up after ${attempts} runs that were interrupted`;
  const failed: Task = { ...task, status: "failed", completed_at: at, result, mode: "rules" };
  await saveTask(tx, before, { task: failed, attempts });
  await announceEnd(store, tx, failed, result);
}

/** Commits a result, unless another process has claimed the task meanwhile. */
async function commitResult(
  deps: OperationsDeps,
  { task: { task_id }, attempts, claim }: TaskRecord,
  status: "completed" | "failed",
  result: Pick<Task, "result" | "mode">,
): Promise<Task> {
  return deps.store.transact(async (tx) => {
    const current = await readTask(tx, task_id);
    if (current.task.status !== "running" || current.attempts !== attempts || current.claim?.owner !== claim?.owner)
      return current.task;
    const completed_at = new Date(deps.clock.now()).toISOString();
    const task: Task = { ...current.task, status, completed_at, ...result };
    await saveTask(tx, current, { task, attempts });
    await announceEnd(
      deps.store,
      tx,
      task,
      status === "failed" ? result.result! : "Its report is in the task's result.",
    );
    return task;
  });
}

const announceEnd = (
  store: Store,
  tx: Tx,
  { task_id, title, status, completed_at }: Task,
  detail: string,
): Promise<void> =>
  addNotice({ store }, tx, {
    at: completed_at!,
    kind: `task_${status}`,
    title: `Task ${task_id} ${status}: ${title}`,
    detail,
    ref: task_id,
  });
