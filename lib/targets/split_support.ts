/** Values that are split between users, for a system that can express splits in its own values. */
import { readSplit, type UserSplit } from "../rollout/split_value.ts";
import { isEqual } from "./entry.ts";
import type { Entry, TargetSystem, TargetValue } from "./port.ts";

/** The functions that express splits in a system's own values. */
export interface SplitRendering {
  /** Explains why the system cannot hold the split. */
  findProblem(split: UserSplit): string | undefined;
  /** Returns the system's value that gives each share of the users its value. */
  render(entry: Entry, split: UserSplit): unknown;
}

/** Adds split values to a system: a split is written in the system's own form and read back as the split. */
export function addSplitSupport(system: TargetSystem, { findProblem, render }: SplitRendering): TargetSystem {
  /** For each value that was read back as a split: the system's own value, which a system may compare by identity. */
  const originals = new WeakMap<TargetValue, TargetValue>();

  const renderValue = (entry: Entry, value: unknown): unknown => {
    const split = readSplit(value);
    return split ? render(entry, split) : value;
  };
  const renderEntry = (entry: Entry): Entry =>
    readSplit(entry.value) ? { ...entry, value: renderValue(entry, entry.value) } : entry;
  const renderTargetValue = (entry: Entry, current: TargetValue): TargetValue =>
    originals.get(current) ??
    (readSplit(current.value) ? { ...current, value: renderValue(entry, current.value) } : current);
  /** Returns the entry's split if the system has exactly its rendered form, otherwise the value as it is. */
  const readBackSplit = (entry: Entry, current: TargetValue): TargetValue => {
    if (!readSplit(entry.value) || !isEqual(current, renderEntry(entry))) return current;
    const read = { ...current, value: entry.value };
    originals.set(read, current);
    return read;
  };
  const { checkHeld, setMany } = system;

  return {
    ...system,
    holdsSplits: true,

    check(entry) {
      const split = readSplit(entry.value);
      return (split && findProblem(split)) ?? system.check(renderEntry(entry));
    },

    read: async (entry, signal) => readBackSplit(entry, await system.read(renderEntry(entry), signal)),

    ...(checkHeld && {
      checkHeld: (entry, current) => checkHeld(renderEntry(entry), renderTargetValue(entry, current)),
    }),

    async compareAndSet(entry, next, expected, attempt, signal) {
      const renderedExpected = renderTargetValue(entry, expected);
      const renderedNext = next && renderTargetValue(entry, next);
      const result = await system.compareAndSet(renderEntry(entry), renderedNext, renderedExpected, attempt, signal);
      return "conflict" in result ? { ...result, conflict: readBackSplit(entry, result.conflict) } : result;
    },

    ...(setMany && {
      async setMany(writes, signal) {
        const rendered = writes.map(({ entry, next, expected, ...rest }) => ({
          ...rest,
          entry: renderEntry(entry),
          next: next && renderTargetValue(entry, next),
          expected: renderTargetValue(entry, expected),
        }));
        const result = await setMany(rendered, signal);
        return "conflict" in result
          ? { ...result, conflict: readBackSplit(writes[result.index]!.entry, result.conflict) }
          : result;
      },
    }),
  };
}
