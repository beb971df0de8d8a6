/** Settles operations that a crash or a lost process left half done, by what the host answers. */
import { AppError } from "../../kit/errors.ts";
import type { GovernanceDeps } from "../deps.ts";
import type { Lease } from "../records.ts";
import { governed } from "../transaction.ts";
import { endLease, isAbandoned } from "./lease.ts";
import { recordFailure, recordSuccess } from "./record_result.ts";
import { isDone, stateOf } from "./run_adapter.ts";

const BATCH = 100;

/** Asks the host about one abandoned lease, and completes the change or records the failure. */
export async function recoverLease(deps: GovernanceDeps, lease: Lease): Promise<void> {
  const adapter = deps.product?.adapter;
  const change = (await deps.store.get("changes", lease.change_id))?.value.change;
  const host = adapter && change ? await stateOf(adapter, change) : "unknown";
  await governed<void>({ deps }, async (transaction) => {
    const before = await transaction.change(lease.change_id);
    await endLease(transaction, lease);
    if (adapter && isDone(lease.operation, host))
      await recordSuccess(transaction, before, lease, { name: adapter.name, result: host }, true);
    else
      recordFailure(transaction, before, lease, {
        stage: "interrupted",
        error: "the service stopped before the operation ended; ask for it again",
        host,
      });
  });
}

/**
 * Settles abandoned leases and returns how many. `all`: at the start of a process that alone owns its store, no other can
 * be running one.
 */
export async function recoverAbandoned(deps: GovernanceDeps, all = false): Promise<number> {
  let recovered = 0;
  for (const { value: lease } of await deps.store.list("leases", { limit: BATCH })) {
    await deps.mutex(lease.change_id, async () => {
      const current = (await deps.store.get("leases", lease.change_id))?.value;
      if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return;
      try {
        await recoverLease(deps, current);
        recovered++;
      } catch (error) {
        // One change that does not fit its lease must not keep the others, or the service, from going on.
        if (!(error instanceof AppError)) throw error;
        const { change_id } = current;
        if (error.code !== "operation_in_progress")
          deps.log.warn("an interrupted operation cannot be settled", { change_id, error: error.message });
      }
    });
  }
  return recovered;
}
