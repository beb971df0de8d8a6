/** Leases on targets of a plan that the store lost: without one nobody would ask how an apply left its target. */
import type { ChangesDeps } from "../deps.ts";
import { findCarrier } from "../places.ts";
import { type OperationLease, readRecord } from "../records.ts";
import { parseEvent } from "../rules/event.ts";
import { isPlan } from "../rules/list_entries.ts";
import { listOperands } from "../rules/operands.ts";
import { isSameTarget } from "../rules/target_key.ts";
import type { HostState } from "./adapter_port.ts";
import { isGone } from "./ask_host.ts";
import { leaseKey } from "./lease.ts";
import { recordEffect } from "./resolve_restore.ts";

/** A target of a failure, as its entry has it. */
interface LeftTarget {
  tenant_id: string;
  target: string;
  host?: HostState;
  unanswered?: true;
}

/**
 * Writes the lease on each target of a plan that its apply was to set and that the log does not show as taken back since; `leases`:
 * those that are left of the apply. Returns the written ones, under which the target is taken back.
 */
export async function writeMissingLeases(
  deps: ChangesDeps,
  leases: readonly OperationLease[],
): Promise<OperationLease[]> {
  const [first] = leases as [OperationLease];
  const change = (await readRecord(deps.store, first.change_id))?.change;
  if (first.operation !== "apply" || !change || !isPlan(change)) return [];
  const lost = listOperands(change)
    .filter((operand) => findCarrier(deps.product?.adapter, operand))
    .filter((operand) => leases.every(({ place }) => place !== leaseKey(operand)));
  if (lost.length === 0) return [];
  return recordEffect<OperationLease[]>(deps, async ({ tx, ledger }) => {
    const record = await readRecord(tx, first.change_id);
    const ends = (await ledger.entries(first.change_id, record))
      .filter(({ id, event_type }) => id >= first.number && event_type === "change_apply_failed")
      .flatMap((entry) => (parseEvent(entry).detail.sets ?? []) as readonly LeftTarget[]);
    const written: OperationLease[] = [];
    for (const operand of lost) {
      const end = ends.findLast((one) => isSameTarget(one, operand));
      const place = leaseKey(operand);
      if ((end && isGone(end.host) && !end.unanswered) || (await tx.get("leases", place))) continue;
      const lease: OperationLease = { ...first, place, back: first.back ?? "interrupted" };
      tx.put("leases", place, lease);
      written.push(lease);
    }
    return written;
  });
}
