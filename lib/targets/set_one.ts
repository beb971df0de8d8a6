/** Single writes for a system that can set several values in one transaction. */
import type { TargetSystem } from "./port.ts";

/** Derives `compareAndSet` from `setMany`. */
export const makeCompareAndSet =
  (setMany: NonNullable<TargetSystem["setMany"]>): TargetSystem["compareAndSet"] =>
  async (entry, next, expected, attempt, signal) => {
    const set = await setMany([{ entry, next, expected, attempt }], signal);
    if (set.done) return { done: true, version: set.versions[0]! };
    return "conflict" in set ? { done: false, conflict: set.conflict } : set;
  };
