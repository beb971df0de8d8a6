/** The actions that were run, each with its result. */
import * as z from "zod";
import { appendRecord, type BufferState, sequenceKey } from "../projections/buffer.ts";
import { AppError } from "../kit/errors.ts";
import type { OperationsDeps } from "./deps.ts";

declare module "../store/store.ts" {
  interface Collections {
    actions: ActionRecord;
    actions_running: Claim;
  }
  interface Meta {
    actions: BufferState;
  }
}

export const ACTIONS = [
  "cycle",
  "verify_audit",
  "check_drift",
  "evaluate_outcomes",
  "sync_peers",
  "run_next_task",
  "write_report",
  "checkpoint",
  "rebuild",
] as const;
export type ActionName = (typeof ACTIONS)[number];

/** Stored actions; the oldest are removed first. */
export const MAX_STORED_ACTIONS = 500;
/** Characters of JSON of a stored result. */
const MAX_RESULT_CHARACTERS = 16_384;
/** Time after which a running action may be started again, since its process may have ended. */
const CLAIM_MS = 60_000;

/** The name of an action. */
export const actionName = z.enum(ACTIONS).describe("An action of the service.");

export const actionSchema = z
  .object({
    action_id: z
      .string()
      .meta({ description: "Id of the run.", examples: ["act_019a8f3e-9a00-7b10-8c3d-2e4f6a8b0c1d"] }),
    action: actionName.describe("Name of the action that ran."),
    status: z
      .enum(["running", "completed", "failed", "disabled", "interrupted"])
      .describe("End of the run; disabled: not on this host; interrupted: its process ended."),
    started_at: z.string().meta({ description: "When it began.", format: "date-time" }),
    duration_ms: z.number().int().nullable().describe("How long it took, in milliseconds; null while running."),
    result: z.unknown().describe("Result: any JSON, cut if long."),
  })
  .describe("A run of an action.");
export type ActionRecord = z.infer<typeof actionSchema>;

/** `actions_running/<name>`: the run under way. */
interface Claim {
  action_id: string;
  ends: number;
}

type LogDeps = Pick<OperationsDeps, "store" | "clock" | "ids">;

/** Result of an action. */
export type ActionResult = Pick<ActionRecord, "status" | "result">;

/** Runs an action, records it, and returns the final record. Errors: 409 `operation_in_progress` while the same action runs. */
export async function runRecorded(
  { store, clock, ids }: LogDeps,
  action: ActionName,
  run: () => Promise<ActionResult>,
): Promise<ActionRecord> {
  const started = clock.now();
  const record: ActionRecord = {
    action_id: `act_${ids.uuid(started)}`,
    action,
    status: "running",
    started_at: new Date(started).toISOString(),
    duration_ms: null,
    result: null,
  };
  const { action_id } = record;
  const key = await store.transact(async (tx) => {
    const claim = (await tx.get("actions_running", action))?.value;
    if (claim && started < claim.ends) {
      const facts = { action, action_id: claim.action_id };
      throw new AppError("operation_in_progress", `${action} is running; ask again when it has ended`, facts);
    }
    const stored = (await tx.get("meta", "actions"))?.value;
    const buffer = await appendRecord(tx, "actions", stored, () => record, { maxCount: MAX_STORED_ACTIONS });
    tx.put("meta", "actions", buffer);
    tx.put("actions_running", action, { action_id, ends: started + CLAIM_MS });
    return sequenceKey(buffer.seq);
  });
  const result = await run();
  const finished: ActionRecord = { ...record, ...result, duration_ms: Math.max(0, clock.now() - started) };
  await store.transact(async (tx) => {
    tx.put("actions", key, { ...finished, result: shortenResult(finished.result) });
    const claim = (await tx.get("actions_running", action))?.value;
    if (claim?.action_id === action_id) tx.delete("actions_running", action);
  });
  return finished;
}

/** Replaces a long result by a note. */
function shortenResult(result: unknown): unknown {
  const characters = JSON.stringify(result)?.length ?? 0;
  return characters <= MAX_RESULT_CHARACTERS ? result : { omitted: `a result of ${characters} characters is not kept` };
}

/** Lists the stored actions, newest first. */
export async function listActions({ store, clock }: LogDeps, limit: number): Promise<ActionRecord[]> {
  const [page, running] = await Promise.all([
    store.list("actions", { limit, reverse: true }),
    store.list("actions_running", { limit: ACTIONS.length }),
  ]);
  const activeIds = new Set(
    running.filter(({ value }) => clock.now() < value.ends).map(({ value }) => value.action_id),
  );
  return page.map(({ value }) =>
    value.status === "running" && !activeIds.has(value.action_id) ? { ...value, status: "interrupted" } : value,
  );
}
