/** Single writes for a system that can set several values in one transaction. */
import type { TargetSystem } from "./port.ts";

/** Derives `compareAndSet` from `setMany`. */
export const makeCompareAndSet =
  (setMany: NonNullable<TargetSystem["setMany"]>): TargetSystem["compareAndSet"] =>
  async (entry, next, expected, attempt, signal) => {
    const result = await setMany([{ entry, next, expected, attempt }], signal);
    if (result.done) return { done: true, version: result.versions[0]! };
    return "conflict" in result ? { done: false, conflict: result.conflict } : result;
  };
