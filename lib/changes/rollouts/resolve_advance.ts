/** Resolves advances of rollouts that a crash, a lost process or a silent target system left half done. */
import { runWithTimeLimit as limited } from "../../kit/time_limit.ts";
import type { ChangesDeps } from "../deps.ts";
import type { ProductAdapter } from "../operations/adapter_port.ts";
import { endLease, isLate, mayTakeEffect } from "../operations/lease.ts";
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

/** Finds out whether the split of a step is set and held now; `overwritten`: it was set, and the target holds something else. */
export async function findStep(
  adapter: ProductAdapter,
  change: Change,
  step: number,
): Promise<"done" | "not_done" | "open" | "overwritten" | "unverified" | undefined> {
  const found = await limited(async (signal) => adapter.findStage?.(change, step, signal)).catch(() => undefined);
  if (found !== "done") return found;
  const host = await tryReadHostState(adapter, change);
  if (host === "unknown" || host === "absent") return "overwritten";
  return host === "applied" ? found : host && "unverified";
}

/** Returns true while a rollout stands at the step before one. */
export const isBeforeStep = (change: Change, step: number): boolean =>
  isRollingOut(change) && change.exposure!.step === step - 1;

/** Records an advance that the target system holds; undefined where the rollout has ended meanwhile. */
export function completeAdvance(
  transaction: Transaction,
  before: ChangeRecord,
  { step, number, circumstance, signed, actor, authenticated, idp }: StageLease,
  found: { resolved_after_interruption?: true; late?: true } = {},
): CommandResult | undefined {
  if (!isBeforeStep(before.change, step)) return undefined;
  // The entry names the intent of now: under it nobody signed what was signed under an earlier one.
  const isCurrent = signed === undefined || signed.manifest_hash === transaction.product.manifest_hash;
  return recordAdvance(transaction, before, {
    circumstance: { ...circumstance, ordered: number, ...found, ...(isCurrent && signed?.facts) },
    actor: isCurrent ? { actor, authenticated, idp } : serviceActor(),
  });
}

/** Asks the target system about an abandoned advance: records it as done, or ends the lease; else the lease remains. */
export async function resolveAdvance(deps: ChangesDeps, lease: StageLease): Promise<ResolutionOutcome> {
  const adapter = deps.product?.adapter;
  const { change_id, step } = lease;
  const change = (await readRecord(deps.store, change_id))?.change;
  const moved = change && findMove(adapter, change);
  if (moved) deps.log.warn("an interrupted advance cannot be resolved", { change_id, error: describeMove(moved) });
  const found = adapter && change && !moved ? await findStep(adapter, change, step) : undefined;
  if (found === undefined && change && adapter) {
    await storeUnresolvedLease(deps, lease);
    return moved ? "stranded" : "silent";
  }
  if (found === "open") return found;
  if (found === "unverified" || (found === "not_done" && mayTakeEffect(lease, deps.clock.now()))) {
    await storeUnresolvedLease(deps, lease);
    return "unknown";
  }
  await recordHostEffect<void>(deps, async (transaction) => {
    await endLease(transaction, lease);
    const before = await transaction.change(change_id, "resolving");
    // An edit after it is like any other: drift reports it, and a restore sets the split again.
    if (found !== "done" && found !== "overwritten") return;
    completeAdvance(transaction, before, lease, isLate(lease) ? { late: true } : { resolved_after_interruption: true });
  });
  return "resolved";
}
