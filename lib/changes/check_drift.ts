/** Verifies managed places in rounds: those read or applied most recently first, each about every ten minutes. */
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

/** Time from the begin of a round to the next. */
const ROUND_MS = 10 * 60_000;
/** How long places are verified in one cycle. */
const MAX_RUN_MS = 5000;
/** How long the answer of one place is waited for. */
const ANSWER_LIMIT_MS = 2000;
const PAGE_SIZE = 1000;
/** More than the id of any apply. */
const AFTER_ALL_APPLIES = Number.MAX_SAFE_INTEGER;
/** Owners whose records are read together, and of these the ones that are verified concurrently. */
const OWNERS_PER_READ = 96;
const MAX_CONCURRENT = 8;
/** Episodes that one check ends. */
const MAX_ENDED = 50;
/** Places that were read lately and are verified before the others. */
const MAX_READ_FIRST = 100;

/** The newest applied change of a target, and the id of its apply. */
interface OwnerKey {
  changeId: string;
  key: string;
  entry: number;
  /** Its place was read lately: it is verified first, and where time is short again in the order of applies. */
  isRead?: boolean;
}

/** Verifies all managed places now, as many as fit in five seconds. */
export const checkDrift = (deps: ChangesDeps): Promise<DriftCheck | undefined> => verify(deps, -Infinity);

/** Verifies the managed places that are due, as many as fit in five seconds. */
export const checkDueDrift = (deps: ChangesDeps): Promise<DriftCheck | undefined> => verify(deps, ROUND_MS);

/** Returns when places are due again, in milliseconds since the epoch; `-Infinity` for now. */
export async function findNextDriftCheck(deps: ChangesDeps): Promise<number> {
  if (!deps.product?.adapter) return Infinity;
  const memory = findDriftMemory(deps);
  if (memory && memory.edited.size > 0 && deps.product.intent.policy.on_drift === "restore") return -Infinity;
  const last = await lastCheck(deps);
  return !last || last.next !== null ? -Infinity : Date.parse(last.round_at) + ROUND_MS;
}

/** Reads the last check: of this process where it lasts, since another process saw nothing for it. */
async function lastCheck(deps: ChangesDeps): Promise<DriftCheck | undefined> {
  const memory = findDriftMemory(deps);
  return memory ? memory.check : (await deps.store.get("meta", "drift"))?.value;
}

async function verify(deps: ChangesDeps, every: number): Promise<DriftCheck | undefined> {
  const { store, clock } = deps;
  if (!deps.product?.adapter || !(await readHead(store))) return undefined;
  const began = clock.now();
  const last = await lastCheck(deps);
  const isRoundOpen = last !== undefined && last.next !== null;
  if (last && !isRoundOpen && began < Date.parse(last.round_at) + every) return last;
  const owners = await listOwners(deps);
  forgetFormerOwners(deps, new Set(owners.map(({ changeId }) => changeId)));
  if (!isRoundOpen) await endEpisodes(deps, owners);
  const due = isRoundOpen ? owners.filter(({ entry }) => entry < last.next!).sort(byApply) : orderByUse(deps, owners);
  const { checked, missed, next } = await verifyOwners(deps, due, began + MAX_RUN_MS);
  const stored = (await store.get("meta", "drift"))?.value.oldest_verified_at ?? null;
  const round_at = isRoundOpen ? last.round_at : new Date(began).toISOString();
  const isMissed = missed || (isRoundOpen && last.missed);
  const check: DriftCheck = {
    checked_at: new Date(clock.now()).toISOString(),
    checked,
    round_at,
    next,
    missed: isMissed,
    oldest_verified_at: owners.length === 0 ? null : next === null && !isMissed ? round_at : stored,
  };
  const memory = findDriftMemory(deps);
  if (memory) memory.check = check;
  await store.transact((tx) => tx.put("meta", "drift", check));
  return check;
}

/** Lists the owners of all targets: of the ids of a target, which share the part up to the last line break, the last one. */
async function listOwners({ store }: ChangesDeps): Promise<OwnerKey[]> {
  const owners = new Map<string, OwnerKey>();
  for await (const page of listPages(store, "owners", { limit: PAGE_SIZE })) {
    for (const { id, value } of page) {
      const end = id.lastIndexOf("\n") + 1;
      const key = id.slice(0, end);
      owners.set(key, { changeId: value, key, entry: Number(id.slice(end)) });
    }
  }
  return [...owners.values()];
}

/** Ends episodes of changes that own their targets no longer: an apply of a plan ends no more than fit in its transaction. */
async function endEpisodes({ store }: ChangesDeps, owners: readonly OwnerKey[]): Promise<void> {
  const owned = new Map(owners.map(({ key, changeId }) => [key, changeId]));
  const page = await store.list("drift", { limit: PAGE_SIZE });
  const ended = page.filter(({ value }) => owned.get(formatTargetKey(value)) !== value.change_id).slice(0, MAX_ENDED);
  if (ended.length > 0) await store.transact((tx) => ended.forEach(({ id }) => tx.delete("drift", id)));
}

const byApply = (a: OwnerKey, b: OwnerKey): number => b.entry - a.entry;

/** Sorts owners at the begin of a round: those whose places were read last, then the others by their applies. */
function orderByUse({ product }: ChangesDeps, owners: readonly OwnerKey[]): OwnerKey[] {
  const read = listRecentlyRead(product!.adapter!, MAX_READ_FIRST).map(formatTargetKey);
  const rank = new Map(read.reverse().map((key, index) => [key, index]));
  return owners
    .map((owner) => ({ ...owner, isRead: rank.has(owner.key) }))
    .sort((a, b) => (rank.get(b.key) ?? -1) - (rank.get(a.key) ?? -1) || byApply(a, b));
}

/** Verifies owners in their order until the time is over. `next`: the apply of the last one, where others are left. */
async function verifyOwners(
  deps: ChangesDeps,
  owners: readonly OwnerKey[],
  end: number,
): Promise<{ checked: number; missed: boolean; next: number | null }> {
  const { clock } = deps;
  /** Systems that did not answer: their other places would take the time of those of other systems. */
  const silent = new Set<string>();
  let [checked, missed] = [0, false];
  for (let from = 0; from < owners.length; from += OWNERS_PER_READ) {
    const batch = owners.slice(from, from + OWNERS_PER_READ);
    const known = await readFreeOwners(deps, batch);
    for (let at = 0; at < batch.length; at += MAX_CONCURRENT) {
      const nextOwner = owners[from + at]!;
      if (clock.now() >= end)
        return { checked, missed, next: nextOwner.isRead ? AFTER_ALL_APPLIES : nextOwner.entry + 1 };
      await Promise.all(
        batch.slice(at, at + MAX_CONCURRENT).map(async ({ changeId, key }) => {
          const owner = known.get(key);
          if (!owner) return;
          const system = nameSystem(deps.product!.adapter!, owner.change);
          if (silent.has(system)) {
            missed = true;
            return;
          }
          const verified = runWithTimeLimit(
            () => deps.mutex(changeId, () => verifyOwner(deps, owner)),
            ANSWER_LIMIT_MS,
          ).catch((error: unknown) => {
            if (!(error instanceof Unanswered)) throw error;
            silent.add(system);
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

/** Verifies the place of an owner; of a plan as it is now, since an episode of another target changes its record. */
const verifyOwner = (deps: ChangesDeps, { change, episode }: Owner) =>
  change.change_id === toChangeId(change.change_id)
    ? verifyLocation(deps, { change, episode })
    : verifyOperand(deps, change);

/** Reads the owners on which no operation is under way, by the keys of their targets. */
async function readFreeOwners(deps: ChangesDeps, owners: readonly OwnerKey[]): Promise<Map<string, Owner>> {
  const { store } = deps;
  const ids = [...new Set(owners.map(({ changeId }) => changeId))];
  const records = new Map((await readRecords(store, ids)).map((record, index) => [ids[index]!, record]));
  const operands = owners.flatMap(({ changeId, key }) => {
    const record = records.get(changeId);
    if (record?.change.status === "applied")
      return listAppliedOperands(record).filter((one) => formatTargetKey(one) === key);
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
