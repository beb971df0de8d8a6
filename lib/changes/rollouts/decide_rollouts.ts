/** Decides on running rollouts in each cycle: rolls back, advances, or records why a rollout holds. */
import { AppError } from "../../kit/errors.ts";
import { runOperation } from "../commands/run_operation.ts";
import type { ChangesDeps } from "../deps.ts";
import { ignoreMismatch } from "../mismatch.ts";
import { listOtherLeases, readLease, selectOtherLease } from "../operations/lease.ts";
import { findCarrier } from "../locations.ts";
import { POLICY_STAGES, serviceActor } from "../rules/actor.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { type OrderedAdvance, orderAdvance, runAdvance } from "./advance_target.ts";
import { recordAdvance } from "./record_advance.ts";
import { judgeRollout } from "./judge_rollout.ts";
import { listRecords } from "../../store/pages.ts";

/** Time for advances in one cycle. Rollbacks that a rule orders are not limited. */
const ADVANCE_TIME_MS = 30_000;
/** Attempts of a rollback before it is recorded as blocked. */
const MAX_ATTEMPTS = 5;
/** Pause after a blocked attempt; it doubles with each further attempt, up to `MAX_PAUSE_MS`. */
const PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 10 * 60_000;

/** Changes that a pass over the rollouts advanced or rolled back. */
export interface RolloutPass {
  advanced: string[];
  rolled_back: string[];
}

type RolloutAction = "advanced" | "rollback" | undefined;
type RolloutDecision = RolloutAction | OrderedAdvance;

/** Decides on every running rollout, each in its own transaction; an error in one does not stop the others. */
export async function decideRollouts(deps: ChangesDeps): Promise<RolloutPass> {
  const pass: RolloutPass = { advanced: [], rolled_back: [] };
  const end = deps.clock.now() + ADVANCE_TIME_MS;
  for await (const { id } of listRecords(deps.store, "rollouts_running", { keysOnly: true })) {
    const canAdvance = deps.clock.now() < end;
    try {
      const action = await deps.mutex(id, async () => {
        const decision = await decide(deps, id, canAdvance);
        return typeof decision === "object" ? advance(deps, decision) : decision;
      });
      if (action === "advanced") pass.advanced.push(id);
      if (action === "rollback" && (await rollBack(deps, id))) pass.rolled_back.push(id);
    } catch (error) {
      deps.log.error("a rollout could not be decided on", { change_id: id, error: String(error) });
    }
  }
  return pass;
}

/** Decides on one rollout, and records a new decision. */
const decide = (deps: ChangesDeps, changeId: string, canAdvance: boolean): Promise<RolloutDecision> =>
  runTransaction<RolloutDecision>(
    { deps },
    async (transaction) => {
      const { tx, isBehind } = transaction;
      const record = await ignoreMismatch(transaction.change(changeId, "undoing"));
      if (!record || !isRollingOut(record.change)) return undefined;
      const { change, rollout } = record;
      if (rollout!.stopped !== undefined) return (await isRollbackDue(transaction, changeId)) ? "rollback" : undefined;
      // While another operation is under way on the target of the change, the value is about to change.
      const ownLease = await readLease(tx, change);
      const other = selectOtherLease(change, await listOtherLeases(tx, [change]));
      const isUnresolvedAdvance = ownLease?.operation === "stage" && ownLease.state !== "running";
      if (other || (ownLease && !isUnresolvedAdvance)) return undefined;
      const verdict = await judgeRollout(transaction, record);
      if (verdict.decision === "rollback") {
        executeStage(transaction, record, "stopped", verdict.facts);
        return "rollback";
      }
      // A clock that is far behind cannot measure hours. An unresolved advance must be resolved first.
      if (isBehind || ownLease) return undefined;
      if (verdict.decision === "hold") {
        if (verdict.reason !== change.exposure!.waits_for) executeStage(transaction, record, "held", verdict.facts);
        return undefined;
      }
      if (!canAdvance) return undefined;
      const circumstance = verdict.facts;
      const actor = serviceActor(POLICY_STAGES);
      if (findCarrier(transaction.product.adapter, change))
        return orderAdvance(transaction, record, { circumstance, ...actor, owner: deps.owner });
      recordAdvance(transaction, record, { circumstance, actor });
      return "advanced";
    },
    { ignoresClockLag: true },
  );

/** Sets an ordered advance on the target system; a failure is recorded, and the next cycle decides again. */
async function advance(deps: ChangesDeps, ordered: OrderedAdvance): Promise<RolloutAction> {
  try {
    await runAdvance({ deps }, ordered);
    return "advanced";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn("a rollout could not be advanced", { change_id: ordered.lease.change_id, code: error.code });
    return undefined;
  }
}

const executeStage = (
  transaction: Transaction,
  record: ChangeRecord,
  event: "held" | "stopped",
  circumstance: object,
) => {
  const { step } = record.change.exposure!;
  return transaction.execute(record, { type: "stage", event, step, circumstance }, serviceActor(POLICY_STAGES));
};

/** Errors after which a rollback is blocked immediately. */
const FINAL_ERRORS: ReadonlySet<string> = new Set(["target_drifted", "evidence_mismatch", "illegal_transition"]);

/** Returns true if an ordered rollback should be attempted now: always, except in the pause after a blocked attempt. */
async function isRollbackDue({ tx, now }: Transaction, changeId: string): Promise<boolean> {
  const { from = -Infinity, until = -Infinity } = (await tx.get("rollout_rollbacks", changeId))?.value ?? {};
  // A clock that was set back ends the pause.
  return now >= until || now < from;
}

/** Rolls back a change whose rule ordered it; a failed rollback is attempted again later. */
async function rollBack(deps: ChangesDeps, changeId: string): Promise<boolean> {
  try {
    await runOperation({ deps }, { operation: "rollback", change_id: changeId, actor: POLICY_STAGES });
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn("a rollout could not be rolled back", { change_id: changeId, code: error.code });
    // Another process is rolling it back: its result counts.
    if (error.code !== "operation_in_progress") await recordFailure(deps, changeId, error);
    return false;
  }
}

const recordFailure = (deps: ChangesDeps, changeId: string, error: AppError): Promise<void> =>
  runTransaction<void>(
    { deps },
    async (transaction) => {
      const { tx, now } = transaction;
      const record = await ignoreMismatch(transaction.change(changeId, "undoing"));
      if (!record || record.rollout?.stopped === undefined || !isRollingOut(record.change)) return;
      const tries = ((await tx.get("rollout_rollbacks", changeId))?.value.tries ?? 0) + 1;
      const isBlocked = FINAL_ERRORS.has(error.code) || tries >= MAX_ATTEMPTS;
      const pause = Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** Math.max(0, tries - MAX_ATTEMPTS));
      tx.put("rollout_rollbacks", changeId, { tries, ...(isBlocked && { from: now, until: now + pause }) });
      if (!isBlocked || record.change.exposure!.waits_for === "rollback_blocked") return;
      const circumstance = { decision: "hold", reason: "rollback_blocked", code: error.code, error: error.message };
      executeStage(transaction, record, "held", circumstance);
    },
    { ignoresClockLag: true },
  );
