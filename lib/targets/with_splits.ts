/** Values that are split between users, on a system whose own values can say so. */
import { readSplit, type Split } from "../rollout/split_value.ts";
import { isEqual } from "./entry.ts";
import type { Entry, TargetSystem, TargetValue } from "./port.ts";

/** A system's own way to say a split. */
export interface SplitRendering {
  /** Explains why the system cannot hold the split. */
  findProblem(split: Split): string | undefined;
  /** Returns the value of the system that gives each share of the users its value. */
  render(entry: Entry, split: Split): unknown;
}

/** Returns the system with entries whose value is a split: it holds their rendering, which is read back as the split. */
export function withSplits(system: TargetSystem, { findProblem, render }: SplitRendering): TargetSystem {
  /** Values as the system returned them: it may recognise them. */
  const originals = new WeakMap<TargetValue, TargetValue>();

  const renderValue = (entry: Entry, value: unknown): unknown => {
    const split = readSplit(value);
    return split ? render(entry, split) : value;
  };
  const renderEntry = (entry: Entry): Entry =>
    readSplit(entry.value) ? { ...entry, value: renderValue(entry, entry.value) } : entry;
  const renderHeld = (entry: Entry, held: TargetValue): TargetValue =>
    originals.get(held) ?? (readSplit(held.value) ? { ...held, value: renderValue(entry, held.value) } : held);
  const readHeld = (entry: Entry, held: TargetValue): TargetValue => {
    if (!readSplit(entry.value) || !isEqual(held, renderEntry(entry))) return held;
    const read = { ...held, value: entry.value };
    originals.set(read, held);
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

    read: async (entry, signal) => readHeld(entry, await system.read(renderEntry(entry), signal)),

    ...(checkHeld && { checkHeld: (entry, held) => checkHeld(renderEntry(entry), renderHeld(entry, held)) }),

    async compareAndSet(entry, next, expected, attempt, signal) {
      const [from, to] = [renderHeld(entry, expected), next && renderHeld(entry, next)];
      const result = await system.compareAndSet(renderEntry(entry), to, from, attempt, signal);
      return "conflict" in result ? { ...result, conflict: readHeld(entry, result.conflict) } : result;
    },

    ...(setMany && {
      async setMany(writes, signal) {
        const rendered = writes.map(({ entry, next, expected, ...rest }) => ({
          ...rest,
          entry: renderEntry(entry),
          next: next && renderHeld(entry, next),
          expected: renderHeld(entry, expected),
        }));
        const result = await setMany(rendered, signal);
        return "conflict" in result
          ? { ...result, conflict: readHeld(writes[result.index]!.entry, result.conflict) }
          : result;
      },
    }),
  };
}
