/** Time limits: a change that waited too long, for consent or for its apply, is denied. */
import { AppError } from "../kit/errors.ts";
import { certainNow } from "./certain_time.ts";
import type { ChangesDeps } from "./deps.ts";
import { readLease } from "./operations/lease.ts";
import { POLICY_EXPIRY, serviceItself } from "./rules/actor.ts";
import { overdueStep, WAITED } from "./rules/overdue.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { allowedActions } from "./rules/transitions.ts";
import { governed, type Transaction } from "./transaction.ts";
import { unlessMismatched } from "./mismatch.ts";
import { readRecords } from "./records.ts";

/** Each expiry is three writes: within what a transaction may hold. */
const SLICE = 15;

/**
 * Denies a change whose time is certainly over, and returns the refusal that a request for it meets. One that is being applied
 * does not lapse.
 */
export async function expireIfDue(
  transaction: Transaction,
  deps: ChangesDeps,
  before: ChangeRecord,
): Promise<AppError | undefined> {
  const { policy } = transaction.product.intent;
  if (overdueStep(before.change, policy, transaction.now) === undefined) return undefined;
  const type = overdueStep(before.change, policy, await certainNow(deps, transaction.tx));
  if (type === undefined || (type === "lapse" && (await readLease(transaction.tx, before.change)))) return undefined;
  const { change } = transaction.enact(before, { type }, serviceItself(POLICY_EXPIRY)).record;
  return new AppError(
    "illegal_transition",
    `${change.change_id} ${WAITED[type]} longer than the intent allows and is denied; propose it again`,
    {
      change_id: change.change_id,
      current_status: change.status,
      allowed: allowedActions(change, transaction.product.intent),
    },
  );
}

/** Denies those of these changes whose time is over, and returns how many; nothing is written when none is due. */
export async function expireDue(deps: ChangesDeps, changeIds: readonly string[]): Promise<number> {
  const { policy } = deps.product!.intent;
  if ((policy.consent_ttl_hours ?? policy.approval_ttl_hours) === undefined) return 0;
  const certain = await certainNow(deps);
  let expired = 0;
  for (let start = 0; start < changeIds.length; start += SLICE) {
    const ids = changeIds.slice(start, start + SLICE);
    const records = await readRecords(deps.store, ids);
    const due = ids.filter((_, index) => {
      const change = records[index]?.change;
      return change && overdueStep(change, policy, certain);
    });
    if (due.length > 0) expired += await expireAll(deps, due);
  }
  if (expired > 0) deps.requestCache?.forget();
  return expired;
}

const expireAll = (deps: ChangesDeps, changeIds: readonly string[]): Promise<number> =>
  governed<number>({ deps }, async (transaction) => {
    let expired = 0;
    for (const changeId of changeIds) {
      const record = await unlessMismatched(transaction.change(changeId, "closing"));
      if (record && (await expireIfDue(transaction, deps, record))) expired++;
    }
    return expired;
  }) as Promise<number>;
