/** Denials by the intent's time limit. */
import type { GovernanceDeps } from "./deps.ts";
import { expireIfDue } from "./record_decision.ts";
import { isExpired } from "./rules/policy.ts";
import { governed } from "./transaction.ts";

/** Each expiry is three writes: within what a transaction may hold. */
const SLICE = 15;

/** Denies those of these changes whose time is over, and returns how many; nothing is written when none is due. */
export async function expireDue(deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> {
  const { store, clock, product } = deps;
  const { policy } = product!.intent;
  if (policy.consent_ttl_hours === undefined) return 0;
  let expired = 0;
  for (let start = 0; start < changeIds.length; start += SLICE) {
    const records = await store.getMany("changes", changeIds.slice(start, start + SLICE));
    const due = records.flatMap((stored) =>
      stored && isExpired(stored.value.change, policy, clock.now()) ? [stored.id] : [],
    );
    if (due.length > 0) expired += await expireAll(deps, due);
  }
  return expired;
}

const expireAll = (deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> =>
  governed<number>({ deps }, async (transaction) => {
    let expired = 0;
    for (const changeId of changeIds) if (expireIfDue(transaction, await transaction.change(changeId))) expired++;
    return expired;
  }) as Promise<number>;
