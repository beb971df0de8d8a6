/** Actions that a caller can run immediately, without waiting for the cycle. */
import { projectAll, rebuild } from "../projections/projector.ts";
import { countVerdicts } from "../projections/outcomes.ts";
import { verifyProjections } from "../projections/verify.ts";
import { checkDrift } from "../changes/check_drift.ts";
import { readDriftReport } from "../changes/drift.ts";
import { rebuildRecords } from "../changes/rebuild.ts";
import { verifyReport } from "../changes/verify_report.ts";
import { AppError } from "../kit/errors.ts";
import { type ActionName, type ActionRecord, type ActionResult, runRecorded } from "./action_log.ts";
import { runCycle, syncPeers } from "./cycle.ts";
import type { OperationsDeps } from "./deps.ts";
import { reportThisWeek } from "./evolved_files.ts";
import { runNextTask } from "./task_runner.ts";

const completed = (result: unknown): ActionResult => ({ status: "completed", result });
const disabled = (reason: string): ActionResult => ({ status: "disabled", result: { reason } });

const runWithProduct = (run: (deps: OperationsDeps) => Promise<unknown>) => async (deps: OperationsDeps) =>
  deps.product ? completed(await run(deps)) : disabled("no product intent is given");

/** Options of a run: the time zone of a report's week. */
export interface ActionOptions {
  tz: string;
}

const RUNNERS: Readonly<Record<ActionName, (deps: OperationsDeps, options: ActionOptions) => Promise<ActionResult>>> = {
  cycle: async (deps) => completed(await runCycle(deps)),
  verify_audit: runWithProduct(async (deps) => {
    const report = await verifyReport(deps, {});
    // Projections are verified against the log, so only against a valid one.
    return report.valid ? { ...report, ...(await verifyProjections(deps)) } : report;
  }),
  check_drift: async (deps) => {
    if (!deps.product?.adapter) return disabled("no adapter is configured");
    await checkDrift(deps);
    return completed(await readDriftReport(deps));
  },
  evaluate_outcomes: runWithProduct((deps) => countVerdicts(deps, () => projectAll(deps))),
  sync_peers: async (deps) =>
    deps.link ? completed(await syncPeers(deps)) : disabled("the cross-host link is not configured"),
  run_next_task: async (deps) => {
    const task = await runNextTask(deps);
    return completed(task ? { task_id: task.task_id, status: task.status } : { task_id: null });
  },
  write_report: async (deps, { tz }) => {
    if (!deps.evolved) return disabled("this host keeps no files");
    return runWithProduct(async () => ({ files: [await reportThisWeek(deps, tz)] }))(deps);
  },
  checkpoint: async (deps) =>
    deps.checkpoint ? completed(await deps.checkpoint.make()) : disabled("checkpoints are not configured"),
  rebuild: runWithProduct(async (deps) => {
    const records = await rebuildRecords(deps);
    return { followed: await rebuild(deps), ...records };
  }),
};

/** Runs an action and returns the final record. Errors: 409 `operation_in_progress` while the same action runs. */
export const runAction = (
  deps: OperationsDeps,
  action: ActionName,
  options: ActionOptions = { tz: "UTC" },
): Promise<ActionRecord> =>
  runRecorded(deps, action, async () => {
    try {
      return await RUNNERS[action](deps, options);
    } catch (error) {
      if (error instanceof AppError) return { status: "failed", result: { error: error.message } };
      deps.log.error("action failed", { action, error: String(error), stack: (error as Error).stack });
      return { status: "failed", result: { error: "internal error; the service's log has the cause" } };
    }
  });
