/** A store and a target system that simulate a process that crashes at one of its writes. */
import type { Store } from "../../lib/store/store.ts";
import type { TargetSystem } from "../../lib/targets/port.ts";

/** Moments of a crash, relative to the write. */
export const CRASH_MOMENTS = ["after", "before"] as const;

export interface CrashPoint {
  /** Number of the write, from 1. */
  at: number;
  when: (typeof CRASH_MOMENTS)[number];
}

/**
 * Wraps a store and a system, whose transactions and sets are counted together. The write with the number `at` throws, before or
 * after it takes effect, and all later writes throw.
 */
export function crashAtWrite(store: Store, system: TargetSystem, { at, when }: CrashPoint) {
  let writes = 0;
  const write = async <T>(run: () => Promise<T>): Promise<T> => {
    writes++;
    if (writes > at || (writes === at && when === "before")) throw new Error("the process crashed");
    const result = await run();
    if (writes === at) throw new Error("the process crashed");
    return result;
  };
  const crashing: Store = { ...store, transact: (decide) => write(() => store.transact(decide)) };
  const compareAndSet: TargetSystem["compareAndSet"] = (...request) => write(() => system.compareAndSet(...request));
  return { store: crashing, system: { ...system, compareAndSet }, hasCrashed: () => writes >= at };
}
