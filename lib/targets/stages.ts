/** Computes the splits of a rollout's steps on a target system, and advances from step to step. */
import {
  type AdapterResult,
  NO_SPLIT,
  type ChangeWithStages,
  TargetDrifted,
} from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { BUCKETS } from "../rollout/bucket.ts";
import type { Stages } from "../rollout/stages.ts";
import type { AdvanceAttempt, EffectRecord, Effects } from "./effects.ts";
import { isEqual } from "./entry.ts";
import type { Attempt, Entry, TargetSystem, TargetValue, UserShare } from "./port.ts";
import { CONTENTION_MESSAGE, MAX_TRIES } from "./restores.ts";

/** Returns the share of a step, counted from 0; after the last step it is all users. */
const userShare = ({ unit, steps }: Stages, salt: string, step: number): UserShare => ({
  unit,
  salt,
  share: steps[step]?.share ?? BUCKETS,
});

/** Explains why a target system cannot express the splits of a rollout; undefined if it can. The salt makes no difference to that. */
export function findStagesProblem(
  system: TargetSystem,
  entry: Entry,
  stages: Stages,
  before?: TargetValue,
): string | undefined {
  if (!system.split) return NO_SPLIT;
  for (const step of stages.steps.keys()) {
    const problem = system.findSplitProblem?.(entry, userShare(stages, "", step), before);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface StagesOptions {
  effects: Effects;
  read: (entry: Entry, signal: AbortSignal) => Promise<TargetValue>;
  createAttempt: (change: Change, operation: "advance") => Attempt;
}

/** Creates the steps of rollouts on one target system. */
export function createStages(system: TargetSystem, { effects, read, createAttempt }: StagesOptions) {
  const splitAt = (change: Change & ChangeWithStages, entry: Entry, step: number, before: TargetValue): TargetValue =>
    system.split!(entry, userShare(change.stages!, change.change_id, step), before);

  return {
    /** Returns the value that an apply sets: for a rollout, the split of its first step over the value before. */
    start: (
      change: Change & ChangeWithStages,
      entry: Entry,
      before: TargetValue,
    ): Pick<EffectRecord, "stage"> & { next: Partial<TargetValue> } =>
      change.stages
        ? { next: splitAt(change, entry, 0, before), stage: { step: 0, value: change.value } }
        : { next: { value: change.value } },

    /** Requires that the stored split of a step equals the one computed from the change and the value before it. */
    requireOwn(change: Change & ChangeWithStages, entry: Entry, { stage, previous, next }: EffectRecord): void {
      if (!stage || !previous || !next || isEqual(splitAt(change, entry, stage.step, previous), next)) return;
      throw new Error(`the stored record of what ${change.change_id} set was edited; roll it back by hand`);
    },

    /** Records the outcome of an unfinished advance; `open`: it may still be executed. */
    async resolve(change: Change, entry: Entry, signal: AbortSignal): Promise<"open" | undefined> {
      const advance = (await effects.get(change.change_id))?.advance;
      if (!advance) return undefined;
      const readOutcome = async (): Promise<"done" | "not_done"> =>
        isEqual(await read(entry, signal), advance.next) ? "done" : "not_done";
      const outcome = (await system.resolve?.(entry, advance.attempt, signal)) ?? (await readOutcome());
      if (outcome === "open") return outcome;
      if (outcome === "done") await effects.endAdvance(change, { version: undefined });
      // A system without `resolve` may still execute the attempt, so its record remains.
      else if (system.resolve) await effects.endAdvance(change, "not_done");
      return undefined;
    },

    /** Sets the split of a step if the target holds the split of the recorded step. A rollback still restores `previous`. */
    async advance(
      change: Change & ChangeWithStages,
      entry: Entry,
      { next: recorded, previous, stage }: EffectRecord,
      step: number,
      signal: AbortSignal,
    ): Promise<AdapterResult> {
      if (!stage || !previous)
        throw new Error(`what ${change.change_id} replaced is not on record; roll it back by hand`);
      const next = splitAt(change, entry, step, previous);
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await read(entry, signal);
        if (!isEqual(current, recorded))
          throw new TargetDrifted(`the target of ${change.change_id} does not hold the split of its step`, {
            expected: recorded?.value,
            held: current.value ?? null,
          });
        if (stage.step === step) return { result: "applied" };
        const advance: AdvanceAttempt = { attempt: createAttempt(change, "advance"), step, next };
        await effects.beginAdvance(change, advance);
        const result = await system.compareAndSet(entry, next, current, advance.attempt, signal);
        if (result.done) {
          await effects.endAdvance(change, result);
          return { result: "applied" };
        }
        await effects.endAdvance(change, "not_done");
        if ("rejected" in result) throw new Error(result.rejected);
      }
      throw new Error(CONTENTION_MESSAGE);
    },
  };
}
