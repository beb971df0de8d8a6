/** Expires changes: a change that waits too long for its consents, or after its approval for its apply, is denied. */
import { AppError } from "../kit/errors.ts";
import { readConfirmedTime } from "./confirmed_time.ts";
import type { ChangesDeps } from "./deps.ts";
import { ignoreMismatch } from "./mismatch.ts";
import { listLeaseKeys, readLease } from "./operations/lease.ts";
import { readRecords } from "./records.ts";
import { POLICY_EXPIRY, serviceActor } from "./rules/actor.ts";
import type { Change } from "./rules/change.ts";
import { findDeadline } from "./rules/current_state.ts";
import { findOverdueStep, OVERDUE_TEXTS } from "./rules/overdue.ts";
import { evolve } from "./rules/evolve.ts";
import { canRead } from "./rules/reader.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { decide } from "./rules/state_machine.ts";
import { listAllowedActions } from "./rules/transitions.ts";
import { runTransaction, type Transaction } from "./transaction.ts";

/** Changes that are denied in one transaction; each takes three writes. */
const BATCH_SIZE = 15;

/** An item of a list of changes. */
interface ListedChange {
  change: Omit<Change, "value" | "rationale">;
}

/**
 * Returns changes in their order, with expired changes as denied: a change whose deadline is confirmed to have passed is shown as
 * the next cycle or request will record it, decided at its deadline. Its revision and entries are those of the record. An approved
 * change does not expire while it is being applied. Writes nothing.
 */
export async function previewExpiry<Item extends ListedChange>(
  deps: Pick<ChangesDeps, "clock" | "integrity" | "product" | "sha256" | "store">,
  items: readonly Item[],
): Promise<readonly Item[]> {
  const { clock, product, sha256, store } = deps;
  const { intent, manifest_hash } = product!;
  const createOverdueTest = (at: number) => (item: Item) =>
    findOverdueStep(item.change as Change, intent.policy, at) !== undefined;
  const overdue = items.filter(createOverdueTest(clock.now()));
  if (overdue.length === 0) return items;
  const due = new Set(overdue.filter(createOverdueTest(await readConfirmedTime(deps))));
  const approved = [...due].filter(({ change }) => change.status === "approved");
  const leases =
    approved.length === 0
      ? []
      : await store.getMany(
          "leases",
          approved.flatMap(({ change }) => listLeaseKeys(change as Change)),
        );
  const busy = new Set(leases.flatMap((lease) => lease?.value.change_id ?? []));
  for (const item of approved) if (busy.has(item.change.change_id)) due.delete(item);
  const context = { intent, manifest_hash, sha256, actor: serviceActor(POLICY_EXPIRY) };
  return items.map((item) => {
    if (!due.has(item)) return item;
    const change = item.change as Change;
    const { event_type, detail } = decide(change, { type: change.status === "approved" ? "lapse" : "expire" }, context);
    const timestamp = new Date(findDeadline(change, intent.policy)!).toISOString();
    // The entry is not written yet, so it has no id.
    const event = { id: 0, event_type, change_id: change.change_id, timestamp, detail };
    const state = evolve({ change, audit: [], applied: null }, event)!;
    return { ...item, change: { ...state.change, revision: change.revision } };
  });
}

/** Reads records with expired changes as denied, in their order; missing, invalid and hidden records are left out. */
export async function readRecordsWithExpiry(
  deps: Parameters<typeof previewExpiry>[0] & Pick<ChangesDeps, "reader">,
  changeIds: readonly string[],
): Promise<readonly ChangeRecord[]> {
  const records = await readRecords(deps.store, changeIds);
  return previewExpiry(
    deps,
    records.flatMap((record) => (record && canRead(deps.reader, record.change) ? record : [])),
  );
}

/**
 * Denies a change whose deadline is confirmed to have passed, and returns the error for the request. An approved change does not
 * expire while it is being applied.
 */
export async function expireIfDue(
  transaction: Transaction,
  deps: ChangesDeps,
  before: ChangeRecord,
): Promise<AppError | undefined> {
  const { policy } = transaction.product.intent;
  if (findOverdueStep(before.change, policy, transaction.now) === undefined) return undefined;
  const type = findOverdueStep(before.change, policy, await readConfirmedTime(deps, transaction.tx));
  if (type === undefined || (type === "lapse" && (await readLease(transaction.tx, before.change)))) return undefined;
  const { change } = transaction.execute(before, { type }, serviceActor(POLICY_EXPIRY)).record;
  return new AppError(
    "illegal_transition",
    `${change.change_id} ${OVERDUE_TEXTS[type]} longer than the intent allows and is denied; propose it again`,
    {
      change_id: change.change_id,
      current_status: change.status,
      allowed: listAllowedActions(change, transaction.product.intent),
    },
  );
}

/** Denies the changes whose deadlines are confirmed to have passed, and returns their number. Writes nothing if there is none. */
export async function expireDue(deps: ChangesDeps, changeIds: readonly string[]): Promise<number> {
  const { policy } = deps.product!.intent;
  if ((policy.consent_ttl_hours ?? policy.approval_ttl_hours) === undefined) return 0;
  const confirmedTime = await readConfirmedTime(deps);
  let expired = 0;
  for (let start = 0; start < changeIds.length; start += BATCH_SIZE) {
    const ids = changeIds.slice(start, start + BATCH_SIZE);
    const records = await readRecords(deps.store, ids);
    const due = ids.filter((_, index) => {
      const change = records[index]?.change;
      return change && findOverdueStep(change, policy, confirmedTime);
    });
    if (due.length > 0) expired += await expireAll(deps, due);
  }
  if (expired > 0) deps.requestCache?.forget();
  return expired;
}

const expireAll = (deps: ChangesDeps, changeIds: readonly string[]): Promise<number> =>
  runTransaction<number>({ deps }, async (transaction) => {
    let expired = 0;
    for (const changeId of changeIds) {
      const record = await ignoreMismatch(transaction.change(changeId, "closing"));
      if (record && (await expireIfDue(transaction, deps, record))) expired++;
    }
    return expired;
  }) as Promise<number>;
