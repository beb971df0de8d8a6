/** Verifies managed values in rounds of about ten minutes, most recently read or applied values first. */
import { readHead } from "../audit/chain.ts";
import { runWithTimeLimit, Unanswered } from "../kit/time_limit.ts";
import { listPages } from "../store/pages.ts";
import type { ChangesDeps } from "./deps.ts";
import type { DriftCheck } from "./drift.ts";
import { findDriftMemory, forgetOperands, forgetFormerOwners } from "./drift_memory.ts";
import { nameSystem } from "./operations/host_state.ts";
import { formatLeaseKey } from "./operations/lease.ts";
import { readRecords, formatTargetKey } from "./records.ts";
import { toChangeId } from "./rules/operands.ts";
import { listAppliedOperands } from "./rules/record.ts";
import { listRecentlyRead } from "./target_readings.ts";
import { type Owner, verifyOperand, verifyLocation } from "./verify_location.ts";

/** Time from the beginning of a round to the next one. */
const ROUND_MS = 10 * 60_000;
/** Maximum time of verifications in one cycle. */
const MAX_RUN_MS = 5000;
/** Time limit for the response about one target. */
const ANSWER_LIMIT_MS = 2000;
const PAGE_SIZE = 1000;
/** An id above that of any apply. */
const AFTER_ALL_APPLIES = Number.MAX_SAFE_INTEGER;
/** Owners whose records are read in one request, and owners that are verified concurrently. */
const OWNERS_PER_READ = 96;
const MAX_CONCURRENT = 8;
/** Maximum number of episodes of drift that one check ends. */
const MAX_ENDED = 50;
/** Maximum number of recently read targets that a round verifies first. */
const MAX_READ_FIRST = 100;

/** The newest applied change of a target, and the id of its apply. */
interface AppliedTarget {
  changeId: string;
  key: string;
  entry: number;
  /**
   * True if the target was read recently: it is verified first, and again in the order of applies if the round is interrupted.
   */
  isRead?: boolean;
}

/** Verifies managed values now, even if no round is due: as many as fit in five seconds. */
export const checkDrift = (deps: ChangesDeps): Promise<DriftCheck | undefined> => verify(deps, -Infinity);

/** Verifies the managed values that are due, as many as fit in five seconds. */
export const checkDueDrift = (deps: ChangesDeps): Promise<DriftCheck | undefined> => verify(deps, ROUND_MS);

/** Finds when the next check is due, in milliseconds since the epoch; `-Infinity` for now, `Infinity` for never. */
export async function findNextDriftCheck(deps: ChangesDeps): Promise<number> {
  if (!deps.product?.adapter) return Infinity;
  const memory = findDriftMemory(deps);
  // The cycle that checks drift also restores the edited values.
  if (memory && memory.edited.size > 0 && deps.product.intent.policy.on_drift === "restore") return -Infinity;
  const last = await readLastCheck(deps);
  return !last || last.next !== null ? -Infinity : Date.parse(last.round_at) + ROUND_MS;
}

/** Reads the last check. A long-lived process uses its own, because it restores only values whose edit it observed. */
async function readLastCheck(deps: ChangesDeps): Promise<DriftCheck | undefined> {
  const memory = findDriftMemory(deps);
  return memory ? memory.check : (await deps.store.get("meta", "drift"))?.value;
}

/** Verifies values for one cycle. A new round begins `roundMs` after the beginning of the last one, once that is complete. */
async function verify(deps: ChangesDeps, roundMs: number): Promise<DriftCheck | undefined> {
  const { store, clock } = deps;
  if (!deps.product?.adapter || !(await readHead(store))) return undefined;
  const began = clock.now();
  const last = await readLastCheck(deps);
  const isRoundOpen = last !== undefined && last.next !== null;
  if (last && !isRoundOpen && began < Date.parse(last.round_at) + roundMs) return last;
  const owners = await listOwners(deps);
  forgetFormerOwners(deps, new Set(owners.map(({ changeId }) => changeId)));
  if (!isRoundOpen) await endEpisodes(deps, owners);
  // A round that ran out of time goes on with the applies before the one at which it stopped.
  const due = isRoundOpen ? owners.filter(({ entry }) => entry < last.next!).sort(byApply) : orderByUse(deps, owners);
  const { checked, missed, next } = await verifyOwners(deps, due, began + MAX_RUN_MS);
  const earlierVerifiedAt = (await store.get("meta", "drift"))?.value.oldest_verified_at ?? null;
  const round_at = isRoundOpen ? last.round_at : new Date(began).toISOString();
  // Only a complete round without a missed target proves since when every target was verified.
  const isMissed = missed || (isRoundOpen && last.missed);
  const verifiedAt = next === null && !isMissed ? round_at : earlierVerifiedAt;
  const check: DriftCheck = {
    checked_at: new Date(clock.now()).toISOString(),
    checked,
    round_at,
    next,
    missed: isMissed,
    oldest_verified_at: owners.length === 0 ? null : verifiedAt,
  };
  const memory = findDriftMemory(deps);
  if (memory) memory.check = check;
  await store.transact((tx) => tx.put("meta", "drift", check));
  return check;
}

/** Lists the owners of all targets. Row ids of a target share the part up to the last line break; its last row names the owner. */
async function listOwners({ store }: ChangesDeps): Promise<AppliedTarget[]> {
  const owners = new Map<string, AppliedTarget>();
  for await (const page of listPages(store, "owners", { limit: PAGE_SIZE })) {
    for (const { id, value } of page) {
      const end = id.lastIndexOf("\n") + 1;
      const key = id.slice(0, end);
      owners.set(key, { changeId: value, key, entry: Number(id.slice(end)) });
    }
  }
  return [...owners.values()];
}

/** Ends episodes of drift of changes that no longer own their targets, since the apply of a plan can end only a few of them. */
async function endEpisodes({ store }: ChangesDeps, owners: readonly AppliedTarget[]): Promise<void> {
  const ownerByTarget = new Map(owners.map(({ key, changeId }) => [key, changeId]));
  const page = await store.list("drift", { limit: PAGE_SIZE });
  const ended = page
    .filter(({ value }) => ownerByTarget.get(formatTargetKey(value)) !== value.change_id)
    .slice(0, MAX_ENDED);
  if (ended.length > 0) await store.transact((tx) => ended.forEach(({ id }) => tx.delete("drift", id)));
}

const byApply = (a: AppliedTarget, b: AppliedTarget): number => b.entry - a.entry;

/** Sorts owners at the beginning of a round: recently read targets first, then the others by their applies, newest first. */
function orderByUse({ product }: ChangesDeps, owners: readonly AppliedTarget[]): AppliedTarget[] {
  const read = listRecentlyRead(product!.adapter!, MAX_READ_FIRST).map(formatTargetKey);
  // The target that was read last has the highest rank.
  const rank = new Map(read.reverse().map((key, index) => [key, index]));
  return owners
    .map((owner) => ({ ...owner, isRead: rank.has(owner.key) }))
    .sort((a, b) => (rank.get(b.key) ?? -1) - (rank.get(a.key) ?? -1) || byApply(a, b));
}

/** Verifies owners in order until the end time. `next`: as in `DriftCheck`. */
async function verifyOwners(
  deps: ChangesDeps,
  owners: readonly AppliedTarget[],
  end: number,
): Promise<{ checked: number; missed: boolean; next: number | null }> {
  const { clock } = deps;
  /** Systems that did not answer: waiting for their other targets would take the time of other systems. */
  const silentSystems = new Set<string>();
  let checked = 0;
  let missed = false;
  for (let from = 0; from < owners.length; from += OWNERS_PER_READ) {
    const batch = owners.slice(from, from + OWNERS_PER_READ);
    const freeOwners = await readFreeOwners(deps, batch);
    for (let start = 0; start < batch.length; start += MAX_CONCURRENT) {
      const nextOwner = owners[from + start]!;
      if (clock.now() >= end)
        return { checked, missed, next: nextOwner.isRead ? AFTER_ALL_APPLIES : nextOwner.entry + 1 };
      await Promise.all(
        batch.slice(start, start + MAX_CONCURRENT).map(async ({ changeId, key }) => {
          const owner = freeOwners.get(key);
          if (!owner) return;
          const system = nameSystem(deps.product!.adapter!, owner.change);
          if (silentSystems.has(system)) {
            missed = true;
            return;
          }
          const verified = runWithTimeLimit(
            () => deps.mutex(changeId, () => verifyOwner(deps, owner)),
            ANSWER_LIMIT_MS,
          ).catch((error: unknown) => {
            if (!(error instanceof Unanswered)) throw error;
            silentSystems.add(system);
            return "unreadable" as const;
          });
          checked++;
          if ((await verified) === "unreadable") missed = true;
        }),
      );
    }
  }
  return { checked, missed, next: null };
}

/**
 * Verifies the target of an owner. An operand of a plan has an id of its own; the record of its plan is read again, since an episode
 * of another target changes it.
 */
const verifyOwner = (deps: ChangesDeps, { change, episode }: Owner) =>
  change.change_id === toChangeId(change.change_id)
    ? verifyLocation(deps, { change, episode })
    : verifyOperand(deps, change);

/** Reads the owners on which no operation is under way, by the keys of their targets. */
async function readFreeOwners(deps: ChangesDeps, owners: readonly AppliedTarget[]): Promise<Map<string, Owner>> {
  const { store } = deps;
  const ids = [...new Set(owners.map(({ changeId }) => changeId))];
  const records = new Map((await readRecords(store, ids)).map((record, index) => [ids[index]!, record]));
  const operands = owners.flatMap(({ changeId, key }) => {
    const record = records.get(changeId);
    if (record?.change.status === "applied")
      return listAppliedOperands(record).filter((operand) => formatTargetKey(operand) === key);
    if (record) forgetOperands(deps, changeId);
    return [];
  });
  const [leases, episodes] = await Promise.all([
    store.getMany("leases", operands.map(formatLeaseKey)),
    store.getMany(
      "drift",
      operands.map(({ change_id }) => change_id),
    ),
  ]);
  const free = operands.flatMap((change, index) =>
    leases[index] ? [] : [[formatTargetKey(change), { change, episode: episodes[index]?.value }] as const],
  );
  return new Map(free);
}
