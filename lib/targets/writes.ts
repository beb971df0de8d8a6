/** Writes values to one target system, several in one transaction. Each write is recorded before it is sent. */
import {
  type AdapterResult,
  type ChangeWithStages,
  TargetDrifted,
  TargetMoved,
} from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { digestObservedValue } from "../changes/rules/moved_value.ts";
import type { Sha256 } from "../kit/platform.ts";
import { type EffectRecord, type Effects, appliedValue } from "./effects.ts";
import { isEqual, toAdapterValue } from "./entry.ts";
import type { Attempt, Entry, SetManyResult, TargetSystem, TargetValue, Write } from "./port.ts";
import { CONTENTION_MESSAGE, digestValue, MAX_TRIES } from "./restores.ts";
import type { createStages } from "./stages.ts";

export const MANUAL_ROLLBACK_HINT = "set by hand what was there before, and roll back again";

const CONCURRENT_READS = 8;

/** A value to set. */
export interface ApplyWrite {
  change: Change & ChangeWithStages;
  entry: Entry;
  /** The record of an earlier attempt. */
  earlier: EffectRecord | undefined;
  /** Digests of the only values that may be replaced; absent: any. */
  expected: readonly string[] | undefined;
}

/** A value to roll back. */
export interface RollbackWrite {
  change: Change;
  entry: Entry;
  record: EffectRecord;
  overDrift: boolean;
}

interface WritesOptions {
  effects: Effects;
  read: (entry: Entry, signal: AbortSignal) => Promise<TargetValue>;
  createAttempts: (changes: readonly Change[], operation: Attempt["operation"]) => Attempt[];
  stages: Pick<ReturnType<typeof createStages>, "start">;
  sha256: Sha256;
}

/** Throws `TargetMoved` if a target holds a value that may not be replaced. */
export function requireExpected(
  { value, version }: TargetValue,
  { change, expected }: Pick<ApplyWrite, "change" | "expected">,
  sha256: Sha256,
): void {
  if (expected && !expected.includes(digestObservedValue({ value }, sha256)))
    throw new TargetMoved({ value, version }, change.change_id);
}

export const describeOverwrite = (value: TargetValue | undefined, sha256: Sha256): Pick<AdapterResult, "detail"> =>
  value ? { detail: { overwrote: digestValue(value, sha256) } } : {};

/** Returns the expected and the current value if the target holds neither the value of the change nor the previous one. */
export function findForeignValue(
  change: Change,
  record: EffectRecord,
  current: TargetValue,
): TargetDrifted["values"] | undefined {
  const own = appliedValue(change, record);
  if (isEqual(current, own) || isEqual(current, record.previous)) return undefined;
  return { expected: own.value, held: current.value ?? null };
}

/** Creates the writes of one target system. */
export function createWrites(system: TargetSystem, { effects, read, createAttempts, stages, sha256 }: WritesOptions) {
  /** Sets one value, or several in one transaction of the system. */
  const setAll = async (
    writes: readonly Write[],
    signal: AbortSignal,
  ): Promise<SetManyResult & { overwrote?: TargetValue | undefined }> => {
    if (writes.length > 1) return system.setMany!(writes, signal);
    const { entry, next, expected, attempt } = writes[0]!;
    const result = await system.compareAndSet(entry, next, expected, attempt, signal);
    if (result.done) return { done: true, versions: [result.version], overwrote: result.overwrote };
    return "conflict" in result ? { ...result, index: 0 } : result;
  };

  const readAll = async (items: readonly { entry: Entry }[], signal: AbortSignal): Promise<TargetValue[]> => {
    const current: TargetValue[] = [];
    for (let start = 0; start < items.length; start += CONCURRENT_READS) {
      const slice = items.slice(start, start + CONCURRENT_READS);
      current.push(...(await Promise.all(slice.map(({ entry }) => read(entry, signal)))));
    }
    return current;
  };

  const dropValue = ({ value: _, ...entryWithoutValue }: Entry): Omit<Entry, "value"> => entryWithoutValue;

  const startRollback = async (change: Change, entry: Entry, attempt: Attempt): Promise<void> =>
    effects.begin(change, { state: "rolling_back", attempt, place: system.place(entry), entry: dropValue(entry) });

  /** Records a rollback that needs no write: the value of the change is not set, or a later change owns the target. */
  const noteRollback = async (
    change: Change,
    entry: Entry,
    superseded_by: string | undefined,
    signal: AbortSignal,
  ): Promise<AdapterResult> => {
    const record = await effects.get(change.change_id);
    const [attempt] = createAttempts([change], "rollback") as [Attempt];
    await startRollback(change, entry, attempt);
    const replaced = await effects.describeOther(record?.applied_at === undefined ? undefined : record.replaced);
    await system.note?.(entry, { ...attempt, superseded_by, replaced }, signal);
    await effects.finishRollback(change);
    return { result: superseded_by === undefined ? "rolled_back" : "superseded" };
  };

  return {
    noteRollback,

    /** Sets all values, or none. */
    async apply(items: readonly ApplyWrite[], signal: AbortSignal): Promise<AdapterResult[]> {
      const results = new Map<ApplyWrite, AdapterResult>();
      const owners = items.map(async ({ change }) => effects.describeOther((await effects.target(change))?.owner));
      const replaced = await Promise.all(owners);
      // The record of each item as it is stored now.
      const records = new Map(items.map((item) => [item, item.earlier]));
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await readAll(items, signal);
        for (const [index, item] of items.entries()) {
          const record = records.get(item);
          // The target already holds the new value: an earlier attempt was executed late, and the replaced value is recorded.
          if (results.has(item) || record?.state !== "pending" || !isEqual(current[index], record.next)) continue;
          await effects.finishApply(item.change, current[index]!.version);
          results.set(item, { result: "applied", previous: toAdapterValue(record.previous) });
        }
        const remaining = [...items.keys()].filter((index) => !results.has(items[index]!));
        if (remaining.length === 0) break;
        for (const index of remaining) requireExpected(current[index]!, items[index]!, sha256);
        const attempts = createAttempts(
          remaining.map((index) => items[index]!.change),
          "apply",
        );
        const writes = remaining.map((index, position): Write => {
          const { change, entry } = items[index]!;
          const valueToSet = stages.start(change, entry, current[index]!);
          const attempt = attempts[position]!;
          const place = system.place(entry);
          records.set(items[index]!, {
            state: "pending",
            attempt,
            place,
            entry: dropValue(entry),
            previous: current[index],
            ...valueToSet,
          });
          // The system determines the version of a new value.
          const next = { version: "", ...valueToSet.next };
          return { entry, next, expected: current[index]!, attempt: { ...attempt, replaced: replaced[index] } };
        });
        await Promise.all(remaining.map((index) => effects.begin(items[index]!.change, records.get(items[index]!)!)));
        const result = await setAll(writes, signal);
        if (result.done) {
          const { versions, overwrote } = result;
          await Promise.all(
            remaining.map((index, position) => effects.finishApply(items[index]!.change, versions[position])),
          );
          for (const index of remaining)
            results.set(items[index]!, {
              result: "applied",
              previous: toAdapterValue(current[index]),
              ...describeOverwrite(overwrote, sha256),
            });
          break;
        }
        // The attempt set nothing, so other changes must not wait for it.
        await Promise.all(remaining.map((index) => effects.cancel(items[index]!.change, items[index]!.earlier)));
        for (const index of remaining) records.set(items[index]!, items[index]!.earlier);
        if ("rejected" in result) throw new Error(result.rejected);
      }
      if (results.size < items.length) throw new Error(CONTENTION_MESSAGE);
      return items.map((item) => results.get(item)!);
    },

    /** Restores all values that changes replaced, or none, if the targets still hold the values of the changes. */
    async restorePrevious(items: readonly RollbackWrite[], signal: AbortSignal): Promise<AdapterResult[]> {
      for (const { change, record } of items)
        if (!record.previous)
          throw new Error(`what ${change.change_id} replaced is not on record; ${MANUAL_ROLLBACK_HINT}`);
      const results = new Map<RollbackWrite, AdapterResult>();
      const replaced = await Promise.all(items.map(({ record }) => effects.describeOther(record.replaced)));
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await readAll(items, signal);
        const remaining = [...items.keys()].filter((index) => !results.has(items[index]!));
        for (const index of remaining) {
          const { change, record, overDrift } = items[index]!;
          const drift = overDrift ? undefined : findForeignValue(change, record, current[index]!);
          if (drift)
            throw new TargetDrifted(
              `the target of ${change.change_id} holds neither what it set nor what was there before; ${MANUAL_ROLLBACK_HINT}`,
              drift,
              change.change_id,
            );
        }
        const isOverwritten = (index: number): boolean => {
          const { change, record } = items[index]!;
          return !isEqual(current[index], appliedValue(change, record));
        };
        // A change that set the value that was there before is rolled back by a write, as usual.
        const isAlreadyRestored = (index: number): boolean =>
          isOverwritten(index) && isEqual(current[index], items[index]!.record.previous);
        for (const index of remaining.filter(isAlreadyRestored)) {
          const { change, entry } = items[index]!;
          results.set(items[index]!, await noteRollback(change, entry, undefined, signal));
        }
        const toWrite = remaining.filter((index) => !isAlreadyRestored(index));
        if (toWrite.length === 0) break;
        const attempts = createAttempts(
          toWrite.map((index) => items[index]!.change),
          "rollback",
        );
        const writes = toWrite.map((index, position): Write => {
          const { entry, record } = items[index]!;
          const next = record.previous!.value === undefined ? undefined : record.previous;
          return {
            entry,
            next,
            expected: current[index]!,
            attempt: { ...attempts[position]!, replaced: replaced[index] },
          };
        });
        await Promise.all(
          toWrite.map((index, position) =>
            startRollback(items[index]!.change, items[index]!.entry, attempts[position]!),
          ),
        );
        const result = await setAll(writes, signal);
        if (result.done) {
          await Promise.all(toWrite.map((index) => effects.finishRollback(items[index]!.change)));
          for (const index of toWrite) {
            const overwrote = result.overwrote ?? (isOverwritten(index) ? current[index] : undefined);
            results.set(items[index]!, { result: "rolled_back", ...describeOverwrite(overwrote, sha256) });
          }
          break;
        }
        await Promise.all(toWrite.map((index) => effects.cancel(items[index]!.change, items[index]!.record)));
        if ("rejected" in result) throw new Error(result.rejected);
      }
      if (results.size < items.length) throw new Error(CONTENTION_MESSAGE);
      return items.map((item) => results.get(item)!);
    },
  };
}
