import type { GovernanceDeps } from "./deps.ts";
import { expireIfDue } from "./record_decision.ts";
import { isExpired } from "./rules/policy.ts";
import type { ChangeRecord } from "./records.ts";
import { governed } from "./transaction.ts";

const BATCH = 100;
const BATCHES = 20;
const PENDING = "pending_consent:";

/**
 * Denies pending changes whose time is over, oldest first, at most 2,000, and returns how many; nothing is written when
 * none is due.
 */
export async function expireDue(deps: GovernanceDeps): Promise<number> {
  if (deps.product!.intent.policy.consent_ttl_hours === undefined) return 0;
  let expired = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const due = await dueNow(deps);
    if (due.length > 0) await expireAll(deps, due);
    expired += due.length;
    if (due.length < BATCH) break;
  }
  return expired;
}

/** Denies one change if its time is over. */
export async function expireOne(deps: GovernanceDeps, { change }: ChangeRecord): Promise<void> {
  if (isExpired(change, deps.product!.intent.policy, deps.clock.now())) await expireAll(deps, [change.change_id]);
}

/** The live view is in order of creation, so the first that is not due ends the search. */
async function dueNow({ store, clock, product }: GovernanceDeps): Promise<string[]> {
  const due: string[] = [];
  for (const { id } of await store.list("live", { after: PENDING, limit: BATCH })) {
    const changeId = id.slice(PENDING.length);
    const record = id.startsWith(PENDING) && (await store.get("changes", changeId))?.value;
    if (!record || !isExpired(record.change, product!.intent.policy, clock.now())) break;
    due.push(changeId);
  }
  return due;
}

const expireAll = (deps: GovernanceDeps, changeIds: readonly string[]) =>
  governed<void>({ deps }, async (unit) => {
    for (const changeId of changeIds) await expireIfDue(unit, await unit.change(changeId));
  });
