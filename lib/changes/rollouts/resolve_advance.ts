/** Resolves advances of rollouts that a crash or a silent target system left unfinished. */
import { runWithTimeLimit } from "../../kit/time_limit.ts";
import type { ChangesDeps } from "../deps.ts";
import type { ProductAdapter } from "../operations/adapter_port.ts";
import { endLease, hasRecordedFailure, mayTakeEffect } from "../operations/lease.ts";
import { storeUnresolvedLease, type ResolutionOutcome, recordHostEffect } from "../operations/resolve_restore.ts";
import { tryReadHostState } from "../operations/host_state.ts";
import { describeMove, findMove } from "../locations.ts";
import { readRecord, type StageLease } from "../records.ts";
import { serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import type { CommandResult, Transaction } from "../transaction.ts";
import { recordAdvance } from "./record_advance.ts";

/**
 * Checks that the split of a step is set. `open`: an attempt may still take effect; `overwritten`: it was set, and the target holds
 * another value now; `unverified`: the host shows the change as rolled back; undefined: the host does not answer.
 */
export async function findStep(
  adapter: ProductAdapter,
  change: Change,
  step: number,
): Promise<"done" | "not_done" | "open" | "overwritten" | "unverified" | undefined> {
  const state = await runWithTimeLimit(async (signal) => adapter.findStage?.(change, step, signal)).catch(
    () => undefined,
  );
  if (state !== "done") return state;
  const host = await tryReadHostState(adapter, change);
  if (host === undefined) return undefined;
  if (host === "applied") return "done";
  return host === "rolled_back" ? "unverified" : "overwritten";
}

/** Returns true while a rollout is at the step before `step`. */
export const isBeforeStep = (change: Change, step: number): boolean =>
  isRollingOut(change) && change.exposure!.step === step - 1;

/** Records an advance that the target system has; undefined if the rollout has ended meanwhile. */
export function completeAdvance(
  transaction: Transaction,
  before: ChangeRecord,
  { step, number, circumstance, signed, actor, authenticated, idp }: StageLease,
  resolution: { resolved_after_interruption?: true; late?: true } = {},
): CommandResult | undefined {
  if (!isBeforeStep(before.change, step)) return undefined;
  // The entry names the current intent; a signature under an earlier intent does not count for it.
  const isCurrent = signed === undefined || signed.manifest_hash === transaction.product.manifest_hash;
  return recordAdvance(transaction, before, {
    circumstance: { ...circumstance, ordered: number, ...resolution, ...(isCurrent && signed?.facts) },
    actor: isCurrent ? { actor, authenticated, idp } : serviceActor(),
  });
}

/**
 * Asks the target system about an interrupted advance, and records it or ends its lease. The lease remains if the system does not
 * answer, or the outcome is still open. It ends without a question if there is no adapter or no record any more.
 */
export async function resolveAdvance(deps: ChangesDeps, lease: StageLease): Promise<ResolutionOutcome> {
  const adapter = deps.product?.adapter;
  const { change_id, step } = lease;
  const change = (await readRecord(deps.store, change_id))?.change;
  const moved = change && findMove(adapter, change);
  if (moved) deps.log.warn("an interrupted advance cannot be resolved", { change_id, error: describeMove(moved) });
  const state = adapter && change && !moved ? await findStep(adapter, change, step) : undefined;
  if (state === undefined && change && adapter) {
    await storeUnresolvedLease(deps, lease);
    return moved ? "stranded" : "silent";
  }
  if (state === "open") return state;
  if (state === "unverified" || (state === "not_done" && mayTakeEffect(lease, deps.clock.now()))) {
    await storeUnresolvedLease(deps, lease);
    return "unknown";
  }
  await recordHostEffect<void>(deps, async (transaction) => {
    await endLease(transaction, lease);
    const before = await transaction.change(change_id, "resolving");
    // A later edit of the target is drift like any other: a restore sets the split again.
    if (state !== "done" && state !== "overwritten") return;
    const resolution = hasRecordedFailure(lease)
      ? { late: true as const }
      : { resolved_after_interruption: true as const };
    completeAdvance(transaction, before, lease, resolution);
  });
  return "resolved";
}
