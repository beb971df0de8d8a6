/** Settles operations that a crash or a lost process left half done, by what the host answers. */
import type { GovernanceDeps } from "../deps.ts";
import { AppError } from "../../kit/errors.ts";
import { endClaim, isAbandoned } from "./lease.ts";
import { stateOf } from "./run_adapter.ts";
import type { Claim } from "../records.ts";
import { settle, settleFailure } from "./record_result.ts";
import { governed } from "../transaction.ts";

const BATCH = 100;

/** Asks the host about one abandoned claim, and completes the change or records the failure. */
export async function resolveClaim(deps: GovernanceDeps, claim: Claim): Promise<void> {
  const adapter = deps.product?.adapter;
  const record = (await deps.store.get("changes", claim.change_id))?.value;
  const host = adapter && record ? await stateOf(adapter, record.change) : "unknown";
  const done = claim.operation === "apply" ? host === "applied" : host === "rolled_back" || host === "absent";
  await governed<void>({ deps }, async (unit) => {
    const current = await unit.change(claim.change_id);
    await endClaim(unit, claim);
    const { by, evidence } = claim;
    if (done && adapter)
      await settle(unit, current, claim.operation, {
        adapter: { name: adapter.name, result: host },
        by,
        evidence,
        resolved_after_interruption: true,
      });
    else
      await settleFailure(unit, current, claim.operation, {
        stage: "interrupted",
        error: "the service stopped before the operation ended; ask for it again",
        host,
        by,
        evidence,
      });
  });
}

/**
 * Settles abandoned claims and returns how many. `all`: at the start of a process that alone owns its store, no other
 * can be running one.
 */
export async function resolveAbandoned(deps: GovernanceDeps, all = false): Promise<number> {
  let resolved = 0;
  for (const { value: claim } of await deps.store.list("claims", { limit: BATCH })) {
    await deps.mutex(claim.change_id, async () => {
      const current = (await deps.store.get("claims", claim.change_id))?.value;
      if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return;
      await resolveClaim(deps, current).catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === "operation_in_progress")) throw error;
      });
      resolved++;
    });
  }
  return resolved;
}
