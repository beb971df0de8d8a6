/** Finds the outcomes of unfinished attempts on a target system, and records them. */
import type { Change } from "../changes/rules/change.ts";
import type { EffectRecord, Effects } from "./effects.ts";
import { isEqual, setsValue } from "./entry.ts";
import type { Entry, TargetSystem, TargetValue } from "./port.ts";
import type { createRestores } from "./restores.ts";
import type { createStages } from "./stages.ts";

interface ResolverOptions {
  effects: Effects;
  read: (entry: Entry, signal: AbortSignal) => Promise<TargetValue>;
  restores: Pick<ReturnType<typeof createRestores>, "resolve">;
  stages: Pick<ReturnType<typeof createStages>, "resolve">;
}

/** The record of a change, and the outcome of its attempt if the record does not contain it. */
export interface AttemptResolution {
  record: EffectRecord | undefined;
  /** `open`: the attempt may still be executed; `unclear`: the target holds neither the old nor the new value. */
  outcome?: "open" | "not_done" | "unclear" | undefined;
}

/** Creates the resolver of unfinished attempts on one target system. */
export function createAttemptResolver(system: TargetSystem, { effects, read, restores, stages }: ResolverOptions) {
  const findOutcome = async (
    entry: Entry,
    record: EffectRecord,
    signal: AbortSignal,
  ): Promise<"done" | AttemptResolution["outcome"]> => {
    const isApply = record.state === "pending";
    // The rollback of a superseded change sets nothing; without `note` it sends nothing to the system.
    if (!isApply && record.superseded_by !== undefined && !system.note) return "done";
    const outcome = await system.resolve?.(entry, record.attempt, signal);
    if (outcome !== undefined) return outcome;
    const current = await read(entry, signal);
    const before = isApply ? record.previous : record.next;
    const after = isApply ? record.next : record.previous;
    if (isEqual(current, after)) return "done";
    return isEqual(current, before) ? "not_done" : "unclear";
  };

  /** Records the outcome of an unfinished attempt if it can be found; returns the updated record. */
  const resolve = async (change: Change, entry: Entry, signal: AbortSignal): Promise<AttemptResolution> => {
    for (const writes of [restores, stages])
      if ((await writes.resolve(change, entry, signal)) === "open")
        return { record: await effects.get(change.change_id), outcome: "open" };
    const record = await effects.get(change.change_id);
    if (record?.state !== "pending" && record?.state !== "rolling_back") return { record };
    const outcome = await findOutcome(entry, record, signal);
    if (outcome === "not_done" && record.state === "rolling_back" && record.applied_at !== undefined) {
      // The rollback set nothing, so the change is applied as before. This is recorded now, so that a later change of the
      // target is not taken for the rollback.
      const applied: EffectRecord = { ...record, state: "applied" };
      await effects.cancel(change, applied);
      return { record: applied };
    }
    if (outcome !== "done") return { record, outcome };
    await (record.state === "pending" ? effects.finishApply(change) : effects.finishRollback(change));
    return { record: await effects.get(change.change_id) };
  };

  return {
    resolve,

    /** Resolves as `resolve` does; if a pending attempt set nothing, the record shows the rollback before the attempt. */
    async resolveState(change: Change, entry: Entry, signal: AbortSignal): Promise<AttemptResolution> {
      const { record, outcome } = await resolve(change, entry, signal);
      const isStillRolledBack = record?.earlier && outcome === "not_done";
      return { record: isStillRolledBack ? { ...record, ...record.earlier! } : record, outcome };
    },

    /** Resolves an open attempt of another change on the same target. Throws when its outcome cannot be found yet. */
    async resolveOther(change: Change, signal: AbortSignal): Promise<void> {
      const open = (await effects.target(change))?.open;
      if (open === undefined || open === change.change_id) return;
      const record = await effects.get(open);
      if (!record) return;
      // The other change sets a value exactly if this one does: changes without a value have a target record of their own.
      const value = setsValue(change) ? { value: (record.stage ?? record.next)?.value ?? null } : {};
      const other = { ...change, ...record.entry, ...value, change_id: open };
      const { outcome } = await resolve(other, { ...record.entry, ...value }, signal);
      if (outcome === "open" || outcome === "unclear")
        throw new Error(`the target system has not said what became of ${open} on the same target; try again later`);
    },
  };
}

/** Describes an attempt that may still be executed. */
export const describeOpenAttempt = ({ change_id }: Change, { attempt, restore, advance }: EffectRecord): string => {
  const openRestore = restore && "replaced" in restore ? restore.attempt : undefined;
  const { operation } = advance?.attempt ?? openRestore ?? attempt;
  return `the target system has not said what became of the ${operation} of ${change_id}; try again later`;
};
