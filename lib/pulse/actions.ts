/** Actions: what can be run at once instead of waiting for the cycle, each kept with its result. */
import * as z from "zod";
import { holdAgainst } from "../governance/verify_report.ts";
import type { PulseDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import { checkDrift, driftReport } from "../governance/drift.ts";
import type { Store, Tx } from "../store/store.ts";
import { closeDueOutcomes } from "./close_outcomes.ts";
import { runCycle, syncPeers } from "./cycle.ts";
import { writeReport } from "./learning.ts";
import { compareTallies } from "../follow/recount.ts";
import { runNextTask } from "./task_runner.ts";
import { noticeVerdicts } from "./verdicts.ts";

declare module "../store/store.ts" {
  interface Collections {
    actions: ActionRecord;
    actions_running: Claim;
  }
  interface Meta {
    actions: { seq: number };
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
] as const;
export type ActionName = (typeof ACTIONS)[number];

/** How many actions are kept; the oldest go first. */
export const ACTIONS_KEPT = 500;
/** The longest result that is kept, in characters of JSON. */
const RESULT_KEPT = 16_384;
/** An action that runs longer may be started again: its process may have died. */
const CLAIM_MS = 60_000;

export const actionSchema = z.object({
  action_id: z.string(),
  action: z.enum(ACTIONS),
  /** `disabled`: this host has no such part. `interrupted`: its process ended first. */
  status: z.enum(["running", "completed", "failed", "disabled", "interrupted"]),
  started_at: z.string(),
  duration_ms: z.number().int().nullable(),
  result: z.unknown(),
});
export type ActionRecord = z.infer<typeof actionSchema>;

/** `actions_running/<name>`: the run under way. */
interface Claim {
  action_id: string;
  ends: number;
}

type Ended = Pick<ActionRecord, "status" | "result">;

const completed = (result: unknown): Ended => ({ status: "completed", result });
const disabled = (reason: string): Ended => ({ status: "disabled", result: { reason } });

const needsProduct = (run: (deps: PulseDeps) => Promise<unknown>) => async (deps: PulseDeps) =>
  deps.product ? completed(await run(deps)) : disabled("no product intent is given");

const RUN: Readonly<Record<ActionName, (deps: PulseDeps) => Promise<Ended>>> = {
  cycle: async (deps) => completed(await runCycle(deps)),
  verify_audit: needsProduct(async (deps) => {
    const report = await holdAgainst(deps, {});
    return report.valid ? { ...report, ...(await compareTallies(deps)) } : report;
  }),
  check_drift: async (deps) => {
    if (!deps.product?.adapter) return disabled("no adapter is configured");
    await checkDrift(deps);
    return completed(await driftReport(deps));
  },
  evaluate_outcomes: needsProduct(async (deps) => ({
    closed: await closeDueOutcomes(deps, 2000),
    new_verdicts: await noticeVerdicts(deps, 100),
  })),
  sync_peers: async (deps) =>
    deps.link ? completed(await syncPeers(deps)) : disabled("the cross-host link is not configured"),
  run_next_task: async (deps) => {
    const task = await runNextTask(deps);
    return completed(task ? { task_id: task.task_id, status: task.status } : { task_id: null });
  },
  write_report: async (deps) =>
    deps.evolved ? completed({ files: await writeReport(deps) }) : disabled("this host keeps no files"),
  checkpoint: async (deps) =>
    deps.checkpoint ? completed(await deps.checkpoint.make()) : disabled("checkpoints are not configured"),
};

/** Runs an action and returns it as it ended; 409 `operation_in_progress` while the same one runs. */
export async function runAction(deps: PulseDeps, action: ActionName): Promise<ActionRecord> {
  const { key, record, started } = await begin(deps, action);
  const ended = await RUN[action](deps).catch((error: unknown): Ended => {
    if (!(error instanceof AppError))
      deps.log.error("action failed", { action, error: String(error), stack: (error as Error).stack });
    const told = error instanceof AppError ? error.message : "internal error; the service's log has the cause";
    return { status: "failed", result: { error: told } };
  });
  const done: ActionRecord = { ...record, ...ended, duration_ms: Math.max(0, deps.clock.now() - started) };
  await deps.store.transact(async (tx) => {
    tx.put("actions", key, { ...done, result: keptResult(done.result) });
    const claim = (await tx.get("actions_running", action))?.value;
    if (claim?.action_id === done.action_id) tx.delete("actions_running", action);
  });
  return done;
}

/** A long result is answered whole and kept in short. */
function keptResult(result: unknown): unknown {
  const characters = JSON.stringify(result)?.length ?? 0;
  return characters <= RESULT_KEPT ? result : { omitted: `a result of ${characters} characters is not kept` };
}

async function begin({ store, clock, ids }: PulseDeps, action: ActionName) {
  return store.transact(async (tx) => {
    const started = clock.now();
    const claim = (await tx.get("actions_running", action))?.value;
    if (claim && started < claim.ends)
      throw new AppError("operation_in_progress", `${action} is running; ask again when it has ended`, {
        action,
        action_id: claim.action_id,
      });
    const record: ActionRecord = {
      action_id: `act_${ids.uuid(started)}`,
      action,
      status: "running",
      started_at: new Date(started).toISOString(),
      duration_ms: null,
      result: null,
    };
    const key = await nextKey(tx);
    tx.put("actions", key, record);
    tx.put("actions_running", action, { action_id: record.action_id, ends: started + CLAIM_MS });
    return { key, record, started };
  });
}

const keyOf = (seq: number): string => String(seq).padStart(16, "0");

async function nextKey(tx: Tx): Promise<string> {
  const seq = ((await tx.get("meta", "actions"))?.value.seq ?? 0) + 1;
  tx.put("meta", "actions", { seq });
  if (seq > ACTIONS_KEPT) tx.delete("actions", keyOf(seq - ACTIONS_KEPT));
  return keyOf(seq);
}

/** The actions kept, newest first. */
export async function actionHistory(
  { store, clock }: { store: Store; clock: PulseDeps["clock"] },
  limit: number,
): Promise<ActionRecord[]> {
  const [page, running] = await Promise.all([
    store.list("actions", { limit, reverse: true }),
    store.list("actions_running", { limit: ACTIONS.length }),
  ]);
  const alive = new Set(running.filter(({ value }) => clock.now() < value.ends).map(({ value }) => value.action_id));
  return page.map(({ value }) =>
    value.status === "running" && !alive.has(value.action_id) ? { ...value, status: "interrupted" } : value,
  );
}
