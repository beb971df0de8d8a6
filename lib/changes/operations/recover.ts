/** Resolves operations that a crash, a lost process or a silent host left unfinished, by asking the host. */
import { AppError } from "../../kit/errors.ts";
import { listPages } from "../../store/pages.ts";
import type { ChangesDeps } from "../deps.ts";
import { resolveOperation } from "./resolve_operation.ts";
import { type Lease, type OperationLease, readRecord } from "../records.ts";
import { listOperands } from "../rules/operands.ts";
import { isAbandoned, isUnattended, listOtherLeases, readCurrentLease, readLease, readLeases } from "./lease.ts";
import { writeMissingLeases } from "./missing_leases.ts";
import { type ResolutionOutcome, resolveRestore } from "./resolve_restore.ts";
import { resolveAdvance } from "../rollouts/resolve_advance.ts";

/** Leases that are resolved concurrently. */
const BATCH_SIZE = 20;

/** The attempt to resolve the leases on a change. */
export interface Resolution {
  leases: readonly Lease[];
  outcome: ResolutionOutcome;
}

/**
 * Resolves abandoned leases; returns the number of changes whose leases are resolved. `all`: resolves every lease, at the start
 * of the only process on the store.
 */
export async function recoverAbandoned(deps: ChangesDeps, all = false): Promise<number> {
  let recovered = 0;
  /** A plan has several leases, which are resolved together. */
  const handledChanges = new Set<string>();
  for await (const page of listPages(deps.store, "leases", { limit: BATCH_SIZE })) {
    const leaseRecords = page.map(({ value }) => value).filter(isLease);
    const leases = leaseRecords.filter(({ change_id }) => {
      const isFirst = !handledChanges.has(change_id);
      handledChanges.add(change_id);
      return isFirst;
    });
    const outcomes = await Promise.all(leases.map((lease) => resolveAbandoned(deps, lease, all)));
    recovered += outcomes.filter((outcome) => outcome === "resolved").length;
  }
  return recovered;
}

/** Excludes malformed records, which must not prevent the other leases from being resolved. */
const isLease = (lease: Partial<Lease> | null): boolean => typeof lease?.change_id === "string";

/**
 * Resolves the unattended leases on the targets of a change, each while holding the lock of its own change. Returns the attempt on
 * the change's own leases. The caller must hold no lock, so that two changes cannot wait for each other.
 */
export async function resolveLeases(deps: ChangesDeps, changeId: string): Promise<Resolution | undefined> {
  const change = (await readRecord(deps.store, changeId))?.change;
  if (!change) return undefined;
  const operands = listOperands(change);
  const [leases, others] = await Promise.all([readLeases(deps.store, change), listOtherLeases(deps.store, operands)]);
  const unattended = new Map(
    others.flatMap((lease) => (isUnattended(lease, deps.clock.now()) ? [[lease.change_id, lease]] : [])),
  );
  const [ownLease] = leases;
  // The first outcome is that of all leases on the change itself.
  const [outcome] = await Promise.all(
    [ownLease, ...unattended.values()].map((lease) => lease && resolveAbandoned(deps, lease)),
  );
  return ownLease && outcome && { leases, outcome };
}

/** Resolves the leases on a change if no operation runs under them any more. */
export async function resolveEndedLease(deps: ChangesDeps, changeId: string): Promise<void> {
  const change = (await readRecord(deps.store, changeId))?.change;
  const lease = change && (await readLease(deps.store, change));
  if (lease && isUnattended(lease, deps.clock.now())) await resolveAbandoned(deps, lease);
}

/** Resolves the abandoned leases on the change of a lease. */
const resolveAbandoned = (deps: ChangesDeps, lease: Lease, all = false): Promise<ResolutionOutcome | undefined> =>
  deps.mutex(lease.change_id, async () => {
    const leases = await readAbandoned(deps, lease, all);
    const outcomes: ResolutionOutcome[] = [];
    try {
      const operations: OperationLease[] = [];
      for (const current of leases)
        if (current.operation === "restore") outcomes.push(await resolveRestore(deps, current));
        else if (current.operation === "stage") outcomes.push(await resolveAdvance(deps, current));
        else operations.push(current);
      if (operations.length > 0) {
        const missing = await writeMissingLeases(deps, operations);
        outcomes.push(await resolveOperation(deps, [...operations, ...missing]));
      }
    } catch (error) {
      // A change that does not match its lease must not stop the others or the service.
      if (!(error instanceof AppError)) throw error;
      const { change_id } = lease;
      if (error.code !== "operation_in_progress")
        deps.log.warn("an interrupted operation cannot be settled", { change_id, error: error.message });
      return undefined;
    }
    return WORST_FIRST.find((outcome) => outcomes.includes(outcome));
  });

/** The outcome of several leases is the worst one. */
const WORST_FIRST: readonly ResolutionOutcome[] = ["silent", "open", "stranded", "unknown", "resolved"];

/** Reads the abandoned leases on the change of a lease; only that lease if the change is missing. */
async function readAbandoned(deps: ChangesDeps, lease: Lease, all: boolean): Promise<Lease[]> {
  const change = (await readRecord(deps.store, lease.change_id))?.change;
  const current = await readCurrentLease(deps.store, lease);
  const others = change ? (await readLeases(deps.store, change)).filter(({ place }) => place !== lease.place) : [];
  const leases = current ? [current, ...others] : others;
  return leases.filter((abandoned) => all || isAbandoned(abandoned, deps.owner, deps.clock.now()));
}
