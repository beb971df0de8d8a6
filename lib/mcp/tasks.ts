/**
 * The Tasks extension: a client waits for people without an open connection. Nothing is stored for a task: its id contains the
 * change and the status that the client saw, so any process can answer for it as long as the change exists.
 */
import type { Status } from "../changes/rules/change.ts";
import { NON_FINAL_STATUSES } from "../changes/rules/transitions.ts";
import { AppError } from "../kit/errors.ts";
import { readMeta } from "./era.ts";
import { isObject, type Message, RPC, RpcError } from "./jsonrpc.ts";
import { readChangeStatus } from "./change_status.ts";
import { toolResult, type ToolCall } from "./tool.ts";

/** The extension's name, in the capabilities of both sides. */
export const TASKS = "io.modelcontextprotocol/tasks";

/** Interval at which a client should poll. */
const POLL_MS = 5_000;

/** A wait until the status of a change differs from `seen_status`. */
interface Wait {
  change_id: string;
  seen_status: Status;
}

/** Returns true for a client that supports tasks. */
export function supportsTasks(message: Message): boolean {
  const capabilities = readMeta(message, "clientCapabilities");
  const extensions = isObject(capabilities) ? capabilities["extensions"] : undefined;
  return isObject(extensions) && Object.hasOwn(extensions, TASKS);
}

/** Creates the task for a wait; undefined if the status has changed already. */
export async function createWaitTask(call: ToolCall, wait: Wait): Promise<object | undefined> {
  const task = await readTask(call, wait);
  return task.status === "working" ? { ...task, resultType: "task" } : undefined;
}

/**
 * Answers a request about a task. Updates and cancellations are accepted and have no effect, since the service asks nothing of the
 * client and runs nothing for a task. Errors: `RpcError`.
 */
export async function answerForTask(call: ToolCall, message: Message): Promise<object> {
  if (!supportsTasks(message)) throw missingCapability();
  const task = await readTask(call, parseTaskId(message.params["taskId"])).catch((error: unknown) => {
    throw error instanceof AppError && error.code === "change_not_found" ? unknownTask() : error;
  });
  return message.method === "tasks/get" ? task : {};
}

async function readTask(call: ToolCall, { change_id, seen_status }: Wait) {
  const current = await readChangeStatus(call, change_id);
  const { status, next, created_at, decided_at, applied_at, rolled_back_at } = current;
  const task = {
    taskId: `${seen_status}/${change_id}`,
    statusMessage: next,
    createdAt: created_at,
    lastUpdatedAt: rolled_back_at ?? applied_at ?? decided_at ?? created_at,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
  if (status === seen_status) return { ...task, status: "working" as const };
  return { ...task, status: "completed" as const, result: toolResult({ ...current, moved: true }, true) };
}

function parseTaskId(taskId: unknown): Wait {
  const [, statusText, change_id] = (typeof taskId === "string" && /^([a-z_]+)\/(.{1,200})$/.exec(taskId)) || [];
  const seen_status = NON_FINAL_STATUSES.find((status) => status === statusText);
  if (seen_status === undefined || change_id === undefined) throw unknownTask();
  return { change_id, seen_status };
}

const unknownTask = () => new RpcError(RPC.invalidParams, "Unknown task", 200);

const missingCapability = () =>
  new RpcError(RPC.missingCapability, "Missing required client capability", 400, {
    requiredCapabilities: { extensions: { [TASKS]: {} } },
  });
