/** Compares stored records of changes with the audit log before a value is restored, and finds values that other programs set. */
import type { ProductAdapter, ReadRollbackFacts, RollbackFacts } from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import type { Sha256 } from "../kit/platform.ts";
import { type EffectRecord, type Effects } from "./effects.ts";
import { setsValue } from "./entry.ts";
import type { Entry, TargetValue } from "./port.ts";
import { digestValue } from "./restores.ts";
import type { createAttemptResolver } from "./attempt_resolver.ts";
import { MANUAL_ROLLBACK_HINT, findForeignValue } from "./writes.ts";

interface Parts {
  effects: Pick<Effects, "get">;
  isCumulative(entry: Entry): boolean;
  sha256: Sha256;
}

interface DriftParts extends Parts {
  read(entry: Entry, signal: AbortSignal): Promise<TargetValue>;
  findEntry(change: Change): Promise<Entry>;
  attempts: Pick<ReturnType<typeof createAttemptResolver>, "resolveState">;
}

/** Creates the comparisons for one adapter. */
export function createLogChecks({ effects, isCumulative, sha256 }: Parts) {
  const digest = (current: TargetValue | undefined): string | null => digestValue(current, sha256);
  return {
    digest,
    /** Reads the facts from the log; undefined for changes that own no target: those without a value, and cumulative ones. */
    read: async (change: Change, entry: Entry, readLog: ReadRollbackFacts | undefined) =>
      setsValue(change) && !isCumulative(entry) ? readLog?.(change.change_id) : undefined,

    /** Returns whether a later change owns the target. Throws if the log has a later change and the record has none. */
    async isSuperseded(change_id: string, record: EffectRecord, facts: RollbackFacts | undefined): Promise<boolean> {
      const later = record.superseded_by === undefined ? undefined : await effects.get(record.superseded_by);
      const isLater = later?.state === "applied" || later?.state === "rolling_back";
      // If the log has the later change as applied, but not over this one, `superseded_by` was forged into the record.
      const isForged = isLater && facts?.superseded === false && (await facts.isApplied(record.superseded_by!));
      if (isLater && !isForged) return true;
      if (facts?.superseded)
        throw new Error(
          `by the audit log a later change holds the target of ${change_id}, and the stored record of it was edited`,
        );
      return false;
    },

    /** Requires that the value to restore has the digest that the log recorded; without a digest, the record is trusted. */
    requireReplaced(change_id: string, value: TargetValue | undefined, expected: string | null | undefined): void {
      if (expected === undefined || digest(value) === expected) return;
      throw new Error(
        `the stored record of what ${change_id} replaced was edited: it differs from the audit log; ${MANUAL_ROLLBACK_HINT}`,
      );
    },
  };
}

/** Creates the function that finds a value that another program set after a change was applied. */
export function createDriftFinder(
  logChecks: ReturnType<typeof createLogChecks>,
  { findEntry, attempts, read }: Omit<DriftParts, keyof Parts>,
): NonNullable<ProductAdapter["findDrift"]> {
  return async (change, signal, readLog) => {
    const entry = await findEntry(change);
    const { record, outcome } = await attempts.resolveState(change, entry, signal);
    if (record?.state !== "applied" || outcome !== undefined || !setsValue(change)) return undefined;
    if (await logChecks.isSuperseded(change.change_id, record, await logChecks.read(change, entry, readLog)))
      return undefined;
    return findForeignValue(change, record, await read(entry, signal));
  };
}
