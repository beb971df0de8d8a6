/**
 * The cycle: what time alone makes due. Serialised; it changes the host by a guardrail's rollback, a step of a rollout, an
 * automatic apply and a restore only.
 */
import { entryKey, readHead } from "../audit/chain.ts";
import { findProblem } from "../projections/catch_up.ts";
import { projectAll, PROJECTIONS } from "../projections/projector.ts";
import { addNotice } from "../projections/activity_log.ts";
import { countVerdicts } from "../projections/outcomes.ts";
import { applyDue } from "../changes/automatic_apply.ts";
import { sampleClock } from "../changes/certain_time.ts";
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
import { noticeExpiring } from "./expiring.ts";
import { writeDueFiles } from "./evolved_files.ts";
import { maintainMandates } from "../changes/mandates/narrow_revoke.ts";
import { noticeContested } from "./contested.ts";
import { noticeMismatches } from "./mismatches.ts";
import { computeTick } from "./state.ts";
import { runNextTask } from "./task_runner.ts";
import { runWithTimeLimit as limited, isSlowerThan } from "../kit/time_limit.ts";
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
  /** The task it ran. */
  task: null as string | null,
  peers_synced: false,
  files_written: 0,
  /** The steps that failed; the others were taken all the same. */
  failed_steps: [] as string[],
  /** False for a quick cycle whose time was over before it ended. */
  complete: false,
});

/** How long a quick cycle keeps its caller waiting, and how long peers may keep a whole one, in milliseconds. */
const QUICK_MS = 200;
const SYNC_MS = 10_000;
/** How long a cycle projects at most; the next one continues. */
const PROJECT_MS = 30_000;

/**
 * Runs one cycle after those already asked for. A quick one, for a caller who waits for an answer, touches neither host
 * nor network, runs no task, and resolves within 200 ms: when others are in its way, without having run.
 */
export async function runCycle(
  deps: OperationsDeps,
  { quick = false }: { quick?: boolean } = {},
): Promise<CycleReport> {
  const report = createEmptyReport();
  let late = false;
  const run = deps.mutex("cycle", async () => {
    if (!late) await runInTrace(newTrace(), () => takeSteps(deps, report, quick));
  });
  if (quick) late = await isSlowerThan(run, QUICK_MS);
  else await run;
  if (!late) return { ...report, complete: true };
  deps.wake?.();
  return { ...report, tick: await computeTick(deps) };
}

async function takeSteps(deps: OperationsDeps, report: CycleReport, quick: boolean): Promise<void> {
  /** One step's failure must not keep the others from their work. */
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
  const governs = deps.product && !deps.integrity.breach;
  if (!quick) await step("targets", async () => pingTargets(deps));
  if (governs) report.expired = (await step("expire", () => expire(deps))) ?? 0;
  if (governs && !quick) {
    report.resolved = (await step("resolve", () => recoverAbandoned(deps))) ?? 0;
    report.rolled_back = (await step("guardrail", () => rollBackByGuardrails(deps))) ?? null;
    await step("rollouts", () => decideRollouts(deps));
    await step("apply", () => applyDue(deps));
    await step("restore", () => restoreEdited(deps));
    await step("drift", () => checkDueDrift(deps));
    await step("contested", () => noticeContested(deps));
    // A process that lasts answers between its cycles.
    if (!deps.longLived) await step("github", async () => deps.github?.pass());
    await step("mandates", () => maintainMandates(deps));
  }
  await step("follow", () => project(deps, report, quick ? QUICK_MS : PROJECT_MS));
  // Outcomes that are due by now are reported and sent to peers in this cycle, and not in the next.
  if (!quick) {
    report.task = (await step("task", () => runNextTask(deps)))?.task_id ?? null;
    report.peers_synced = (await step("peers", () => syncPeers(deps))) !== undefined;
  }
  if (governs && !quick) {
    await step("expiring", () => noticeExpiring(deps));
    await step("mismatches", () => noticeMismatches(deps));
    await step("erasures", () => finishErasures(deps));
  }
  await step("evaluate", () => evaluate(deps));
  if (!quick) report.files_written = (await step("files", () => writeDueFiles(deps))) ?? 0;
  report.tick = await incrementTick(deps);
}

/** Looks whether target systems on other machines can be reached, which their capabilities report. */
const pingTargets = async ({ product }: OperationsDeps): Promise<void> =>
  limited(async (signal) => product?.adapter?.ping?.(signal));

/** Denies what waited too long, as far as the clock is certain of that. */
async function expire(deps: OperationsDeps): Promise<number> {
  await sampleClock(deps);
  return expireOverdue(deps);
}

/** Rolls back what a guardrail condemned, and leaves a notice where that is given up. */
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

/** Brings projections up to the head; a log that is not valid is not projected. */
async function project(deps: OperationsDeps, report: CycleReport, ms: number): Promise<void> {
  if (deps.integrity.breach) return;
  const ends = deps.clock.now() + ms;
  const judged = await countVerdicts(deps, () => projectAll(deps, () => deps.clock.now() <= ends));
  report.outcomes_closed = judged.closed;
  report.verdicts = judged.new_verdicts;
  for (const projection of PROJECTIONS)
    if (findProblem(deps, projection) !== null) report.failed_steps.push(`follow_${projection.name}`);
}

/** Asks the peers; one that hangs holds up no more than 10 s. */
export async function syncPeers({ link }: OperationsDeps): Promise<unknown> {
  if (!link) return undefined;
  const syncing = link.sync();
  if (await isSlowerThan(syncing, SYNC_MS)) throw new Error(`the peers did not answer within ${SYNC_MS / 1000} s`);
  return syncing;
}

/** Counts the cycle, and marks how long the log was by then. */
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
