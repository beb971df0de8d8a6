/** Resolves restores that a crash, a lost process or a silent target system left half done. */
import { step } from "../../kit/time_limit.ts";
import type { ChangesDeps } from "../deps.ts";
import { describeMove, findMove } from "../places.ts";
import { type Lease, readRecord, type RestoreLease } from "../records.ts";
import { governed, type Transaction } from "../transaction.ts";
import type { RestoreResult } from "./adapter_port.ts";
import { endLease, keepUnresolved, mayTakeEffect } from "./lease.ts";
import { recordRestore } from "./record_result.ts";
import { nameSystem } from "./run_adapter.ts";

/** `resolved`, or the reason why not: the host shows the operation neither done nor undone, or it cannot be asked. */
export type Outcome = "resolved" | "unknown" | "silent";

/** Records an effect on the host, whatever the clock says. */
export const recordEffect = <T>(deps: ChangesDeps, decision: (transaction: Transaction) => Promise<T>): Promise<T> =>
  governed({ deps }, decision, { anyClock: true });

/** Returns true where an operation ended before the host said how it was left. */
export const isLate = ({ state }: Lease): boolean => state !== "running";

/** Asks the target system about an abandoned restore: records it as done, or ends the lease; else the lease remains. */
export async function resolveRestore(deps: ChangesDeps, lease: RestoreLease): Promise<Outcome> {
  const adapter = deps.product?.adapter;
  const { change_id, restore_id } = lease;
  const change = (await readRecord(deps.store, change_id))?.change;
  const moved = change && findMove(adapter, change);
  if (moved) deps.log.warn("an interrupted restore cannot be resolved", { change_id, error: describeMove(moved) });
  const find = async (signal: AbortSignal) => (await adapter?.findRestore?.(change!, restore_id, signal)) ?? "not_done";
  const found = change && !moved && adapter ? await step(find).catch(() => undefined) : undefined;
  if (found === undefined && change && adapter) {
    await keep(deps, lease);
    return "silent";
  }
  if (found === "open" || (found === "not_done" && mayTakeEffect(lease, deps.clock.now()))) return "unknown";
  const done = typeof found === "object" ? found : undefined;
  if (!done) deps.log.warn("a restore was interrupted and set nothing", { change_id });
  await recordEffect<void>(deps, (transaction) => recordOutcome(transaction, lease, done));
  return "resolved";
}

async function recordOutcome(
  transaction: Transaction,
  lease: RestoreLease,
  done: RestoreResult | undefined,
): Promise<void> {
  await endLease(transaction, lease);
  const before = await transaction.change(lease.change_id, "settling");
  // Rolled back meanwhile: the entry of that says what the target holds.
  if (!done || before.change.status !== "applied") return;
  const adapter = { name: nameSystem(transaction.product.adapter!, before.change), ...done };
  await recordRestore(transaction, before, lease, {
    adapter,
    ...(isLate(lease) ? { late: true } : { resolved_after_interruption: true }),
  });
}

/** A failed restore writes no entry: the lease alone says that the target system has yet to answer. */
async function keep(deps: ChangesDeps, lease: RestoreLease): Promise<void> {
  if (!isLate(lease)) await recordEffect<void>(deps, (transaction) => keepUnresolved(transaction, lease));
}
