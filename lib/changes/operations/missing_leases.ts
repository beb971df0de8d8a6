/**
 * Writes leases again that the store lost while a plan was applied: without a lease on each of its targets, the unfinished apply
 * would not be resolved.
 */
import type { ChangesDeps } from "../deps.ts";
import { findCarrier } from "../locations.ts";
import { type OperationLease, readRecord } from "../records.ts";
import { parseEvent } from "../rules/event.ts";
import { isPlan } from "../rules/list_entries.ts";
import { listOperands } from "../rules/operands.ts";
import { isSameTarget } from "../rules/target_key.ts";
import type { HostState } from "./adapter_port.ts";
import { isGone } from "./host_state.ts";
import { formatLeaseKey } from "./lease.ts";
import { recordHostEffect } from "./resolve_restore.ts";

/** A target in the entry of a failure, and the state that the host had then. */
interface FailedTarget {
  tenant_id: string;
  target: string;
  host?: HostState;
  unanswered?: true;
}

/**
 * Writes a lease on each target of a plan's apply that has no lease and that the log does not show as rolled back since. `leases`:
 * the remaining leases of the apply. Returns the leases that it wrote.
 */
export async function writeMissingLeases(
  deps: ChangesDeps,
  leases: readonly OperationLease[],
): Promise<OperationLease[]> {
  const [first] = leases as [OperationLease];
  const change = (await readRecord(deps.store, first.change_id))?.change;
  if (first.operation !== "apply" || !change || !isPlan(change)) return [];
  const withoutLease = listOperands(change)
    .filter((operand) => findCarrier(deps.product?.adapter, operand))
    .filter((operand) => leases.every(({ place: key }) => key !== formatLeaseKey(operand)));
  if (withoutLease.length === 0) return [];
  return recordHostEffect<OperationLease[]>(deps, async ({ tx, ledger }) => {
    const record = await readRecord(tx, first.change_id);
    // Failures of this apply: their entries follow the taking of its leases.
    const failures = (await ledger.entries(first.change_id, record))
      .filter(({ id, event_type }) => id >= first.number && event_type === "change_apply_failed")
      .flatMap((entry) => (parseEvent(entry).detail.sets ?? []) as readonly FailedTarget[]);
    const written: OperationLease[] = [];
    for (const operand of withoutLease) {
      const failure = failures.findLast((target) => isSameTarget(target, operand));
      const isRolledBack = failure && isGone(failure.host) && !failure.unanswered;
      const key = formatLeaseKey(operand);
      if (isRolledBack || (await tx.get("leases", key))) continue;
      // With `back` the apply is rolled back instead of completed: nothing is known of this target.
      const lease: OperationLease = { ...first, place: key, back: first.back ?? "interrupted" };
      tx.put("leases", key, lease);
      written.push(lease);
    }
    return written;
  });
}
