/** Restores the value of an applied change. The current value of the target is stored before the write. */
import { canonicalJson } from "../kit/canonical_json.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { RestoreResult } from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { type EffectRecord, type Effects, appliedValue, type RestoreAttempt } from "./effects.ts";
import { isEqual } from "./entry.ts";
import type { Attempt, Entry, TargetSystem, TargetValue } from "./port.ts";

/** Maximum number of tries of a write while the target changes between read and write. */
export const MAX_TRIES = 5;

export const CONTENTION_MESSAGE =
  "the target was changed by another program at every try; stop that program and try again";

/** Returns the digest of a value; `null` if the target holds nothing. */
export const digestValue = (current: TargetValue | undefined, sha256: Sha256): string | null =>
  current?.value === undefined ? null : sha256(canonicalJson(current.value));

/** Returns the recorded result of the restore with this id; `not_done` if none is recorded. */
export const describeRestore = (restore: RestoreAttempt | undefined, id: string): RestoreResult | "not_done" =>
  restore?.id === id && "replaced_digest" in restore
    ? { result: "restored", replaced_digest: restore.replaced_digest }
    : "not_done";

interface RestoreOptions {
  effects: Effects;
  read: (entry: Entry, signal: AbortSignal) => Promise<TargetValue>;
  createAttempt: (change: Change, operation: "restore") => Attempt;
  sha256: Sha256;
}

/** Input of a restore. */
interface RestoreRun {
  record: EffectRecord;
  /** The id of the restore; absent if an apply sets the value again. */
  id?: string;
  /** Throws if the current value may not be replaced. */
  requireReplaceable?: (current: TargetValue) => void;
  signal: AbortSignal;
}

/** Creates the restores of one target system. */
export function createRestores(system: TargetSystem, { effects, read, createAttempt, sha256 }: RestoreOptions) {
  const finish = (change: Change, { id, attempt }: RestoreAttempt, replaced: TargetValue, version?: string) =>
    effects.endRestore(change, { restore: { id, attempt, replaced_digest: digestValue(replaced, sha256) }, version });

  return {
    /** Records the outcome of an unfinished restore; `open`: it may still be executed. */
    async resolve(change: Change, entry: Entry, signal: AbortSignal): Promise<"open" | undefined> {
      const record = await effects.get(change.change_id);
      const restore = record?.restore;
      if (!restore || !("replaced" in restore)) return undefined;
      const readOutcome = async (): Promise<"done" | "not_done"> =>
        isEqual(await read(entry, signal), appliedValue(change, record)) ? "done" : "not_done";
      const outcome = (await system.resolve?.(entry, restore.attempt, signal)) ?? (await readOutcome());
      if (outcome === "open") return outcome;
      if (outcome === "done") await finish(change, restore, restore.replaced);
      // A system without `resolve` may still execute the attempt.
      else if (system.resolve) await effects.endRestore(change);
      return undefined;
    },

    /** Sets the value of the change. Returns the replaced value, and an edit that the write overwrote; undefined if it is set already. */
    async run(
      change: Change,
      entry: Entry,
      { record, id, requireReplaceable, signal }: RestoreRun,
    ): Promise<{ held: TargetValue; overwrote?: TargetValue | undefined } | undefined> {
      const next = { version: "", ...appliedValue(change, record) };
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await read(entry, signal);
        if (isEqual(current, next)) return undefined;
        requireReplaceable?.(current);
        const attempt = createAttempt(change, "restore");
        const restore = { id: id ?? attempt.attempt, attempt, replaced: current };
        await effects.beginRestore(change, restore);
        const result = await system.compareAndSet(entry, next, current, attempt, signal);
        if (result.done) {
          await finish(change, restore, result.overwrote ?? current, result.version);
          return { held: current, overwrote: result.overwrote };
        }
        await effects.endRestore(change);
        if ("rejected" in result) throw new Error(result.rejected);
      }
      throw new Error(CONTENTION_MESSAGE);
    },
  };
}
