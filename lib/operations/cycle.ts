/**
 * The cycle: the periodic work. Cycles run one at a time. Only rollbacks by guardrails, steps of rollouts, automatic applies and
 * restores change the host product, and the resolution of interrupted applies, which may roll them back.
 */
import { entryKey, readHead } from "../audit/chain.ts";
import { findProblem } from "../projections/catch_up.ts";
import { projectAll, PROJECTIONS } from "../projections/projector.ts";
import { addNotice } from "../projections/activity_log.ts";
import { countVerdicts } from "../projections/outcomes.ts";
import { applyDue } from "../changes/automatic_apply.ts";
import { sampleClock } from "../changes/confirmed_time.ts";
import { checkDueDrift } from "../changes/check_drift.ts";
import { rollBackTripped } from "../changes/guardrail_rollback.ts";
import { scanIntegrity } from "../changes/integrity_scan.ts";
import { restoreEdited } from "../changes/restore_edited.ts";
import { decideRollouts } from "../changes/rollouts/decide_rollouts.ts";
import { recoverAbandoned } from "../changes/operations/recover.ts";
import { forgetOldAnswers } from "../changes/idempotency.ts";
import { expireOverdue } from "../projections/expire_overdue.ts";
import type { OperationsDeps } from "./deps.ts";
import { finishErasures } from "./erasures.ts";
import { evaluate } from "./evaluate.ts";
import { noticeExpiring } from "./notice_expiring.ts";
import { writeDueFiles } from "./evolved_files.ts";
import { maintainMandates } from "../changes/mandates/narrow_revoke.ts";
import { noticeContested } from "./notice_contested.ts";
import { noticeMismatches } from "./notice_mismatches.ts";
import { computeTick } from "./state.ts";
import { runNextTask } from "./task_runner.ts";
import { isSlowerThan, runWithTimeLimit } from "../kit/time_limit.ts";
import { newTrace, runInTrace } from "../kit/trace.ts";
import { proveWrites } from "../store/write_proof.ts";

/** Report of a cycle. */
export type CycleReport = ReturnType<typeof createEmptyReport>;

/** Returns the report of a cycle that did nothing. */
export const createEmptyReport = () => ({
  tick: 0,
  expired: 0,
  resolved: 0,
  rolled_back: null as string | null,
  outcomes_closed: 0,
  verdicts: 0,
  /** The task that ran. */
  task: null as string | null,
  peers_synced: false,
  files_written: 0,
  /** The steps that failed; the others ran nevertheless. */
  failed_steps: [] as string[],
  /** False for a quick cycle that did not end within its time. */
  complete: false,
});

/** Longest wait for a quick cycle, and for the peers in a complete one. */
const QUICK_MS = 200;
const SYNC_MS = 10_000;
/** Longest projection in a cycle; the next cycle continues. */
const PROJECT_MS = 30_000;

/**
 * Runs one cycle after those requested earlier. A quick cycle, for a caller who waits for an answer, uses neither the host product
 * nor the network, runs no task, and resolves within 200 ms, if necessary without having run.
 */
export async function runCycle(
  deps: OperationsDeps,
  { quick = false }: { quick?: boolean } = {},
): Promise<CycleReport> {
  const report = createEmptyReport();
  let timedOut = false;
  const run = deps.mutex("cycle", async () => {
    if (!timedOut) await runInTrace(newTrace(), () => takeSteps(deps, report, quick));
  });
  if (quick) timedOut = await isSlowerThan(run, QUICK_MS);
  else await run;
  if (!timedOut) return { ...report, complete: true };
  deps.wake?.();
  return { ...report, tick: await computeTick(deps) };
}

async function takeSteps(deps: OperationsDeps, report: CycleReport, quick: boolean): Promise<void> {
  /** Runs a step; a failure does not prevent the others. */
  const step = async <T>(name: string, run: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await run();
    } catch (error) {
      deps.log.warn("a step of the cycle failed", { step: name, error: String(error), stack: (error as Error).stack });
      report.failed_steps.push(name);
      return undefined;
    }
  };
  if (!quick) await step("store", async () => deps.store.inspect?.());
  if (!quick) await step("writes", () => proveWrites(deps, true));
  if (deps.product && !quick) await step("integrity_scan", () => scanIntegrity(deps));
  const mayGovern = deps.product && !deps.integrity.breach;
  if (!quick) await step("targets", async () => pingTargets(deps));
  if (mayGovern) report.expired = (await step("expire", () => expire(deps))) ?? 0;
  if (mayGovern && !quick) {
    report.resolved = (await step("resolve", () => recoverAbandoned(deps))) ?? 0;
    report.rolled_back = (await step("guardrail", () => rollBackByGuardrails(deps))) ?? null;
    await step("rollouts", () => decideRollouts(deps));
    await step("apply", () => applyDue(deps));
    await step("restore", () => restoreEdited(deps));
    await step("drift", () => checkDueDrift(deps));
    await step("contested", () => noticeContested(deps));
    // A long-running process answers the deployments on GitHub between its cycles.
    if (!deps.longLived) await step("github", async () => deps.github?.pass());
    await step("mandates", () => maintainMandates(deps));
  }
  await step("follow", () => project(deps, report, quick ? QUICK_MS : PROJECT_MS));
  // After the projection, so that outcomes that are due now are reported and sent to peers in this cycle.
  if (!quick) {
    report.task = (await step("task", () => runNextTask(deps)))?.task_id ?? null;
    report.peers_synced = (await step("peers", () => syncPeers(deps))) !== undefined;
  }
  if (mayGovern && !quick) {
    await step("expiring", () => noticeExpiring(deps));
    await step("mismatches", () => noticeMismatches(deps));
    await step("erasures", () => finishErasures(deps));
  }
  await step("evaluate", () => evaluate(deps));
  if (!quick) report.files_written = (await step("files", () => writeDueFiles(deps))) ?? 0;
  report.tick = await incrementTick(deps);
}

/** Checks that target systems on other machines can be reached, for their capabilities. */
const pingTargets = async ({ product }: OperationsDeps): Promise<void> =>
  runWithTimeLimit(async (signal) => product?.adapter?.ping?.(signal));

/** Denies changes that have certainly waited too long. */
async function expire(deps: OperationsDeps): Promise<number> {
  await sampleClock(deps);
  return expireOverdue(deps);
}

/** Rolls back the changes of tripped guardrails, and adds a notice if a rollback is given up. */
async function rollBackByGuardrails(deps: OperationsDeps): Promise<string | null> {
  const { rolled_back, given_up } = await rollBackTripped(deps);
  if (given_up)
    await deps.store.transact((tx) =>
      addNotice(deps, tx, {
        at: new Date(deps.clock.now()).toISOString(),
        kind: "guardrail",
        title: `The guardrail's rollback of ${given_up.change_id} is given up`,
        detail: given_up.reason,
        ref: given_up.change_id,
      }),
    );
  return rolled_back;
}

/** Projects the log, unless it is invalid. */
async function project(deps: OperationsDeps, report: CycleReport, ms: number): Promise<void> {
  if (deps.integrity.breach) return;
  const ends = deps.clock.now() + ms;
  const counts = await countVerdicts(deps, () => projectAll(deps, () => deps.clock.now() <= ends));
  report.outcomes_closed = counts.closed;
  report.verdicts = counts.new_verdicts;
  for (const projection of PROJECTIONS)
    if (findProblem(deps, projection) !== null) report.failed_steps.push(`follow_${projection.name}`);
}

/** Synchronizes with the peers, for 10 s at most. */
export async function syncPeers({ link }: OperationsDeps): Promise<unknown> {
  if (!link) return undefined;
  const syncing = link.sync();
  if (await isSlowerThan(syncing, SYNC_MS)) throw new Error(`the peers did not answer within ${SYNC_MS / 1000} s`);
  return syncing;
}

/** Removes old answers to idempotent requests, counts the cycle, and stores the length of the log at its end. */
async function incrementTick({ store, clock }: OperationsDeps): Promise<number> {
  await forgetOldAnswers(store, clock.now());
  return store.transact(async (tx) => {
    const head = await readHead(tx);
    const tick = ((await tx.get("meta", "tick"))?.value.tick ?? 0) + 1;
    tx.put("meta", "tick", { tick, at: new Date(clock.now()).toISOString() });
    if (head) tx.put("ticks", entryKey(head.length), { tick });
    return tick;
  });
}
