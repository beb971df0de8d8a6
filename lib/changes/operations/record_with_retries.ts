/** Records the result of an operation, with retries while the store is busy. */
import { AppError } from "../../kit/errors.ts";
import { OutcomeUnknown, StoreBusy, StoreUnavailable } from "../../store/store.ts";
import type { ChangesDeps } from "../deps.ts";
import type { Lease } from "../records.ts";
import { OPERATION_VERBS } from "./lease.ts";

/** Attempts to write a result; on a busy store each takes a few seconds. */
const MAX_WRITE_ATTEMPTS = 5;

/**
 * Records the adapter's result with more attempts than other writes, since the target has changed already. For the same reason,
 * the error of a result that was not written never says that nothing was changed.
 */
export async function recordWithRetries<T>(
  deps: ChangesDeps,
  lease: Lease,
  commit: () => Promise<T>,
  attempts = MAX_WRITE_ATTEMPTS,
): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (error instanceof StoreBusy && attempts > 1) return recordWithRetries(deps, lease, commit, attempts - 1);
    const isUnknown = error instanceof OutcomeUnknown;
    if (!(error instanceof StoreUnavailable || error instanceof StoreBusy || isUnknown)) throw error;
    const { change_id, operation } = lease;
    const result = isUnknown ? "may not have been written" : "could not be written";
    deps.log.error(`the result of an operation ${result}`, { change_id, operation, error: String(error) });
    const hostRequest = `the host product was asked to ${OPERATION_VERBS[operation]} ${change_id}`;
    const advice = "the next request for the change, or a cycle, asks the host and records the result if it is missing";
    throw new AppError("store_unavailable", `${hostRequest}, and the result ${result}; ${advice}`, { change_id });
  }
}
