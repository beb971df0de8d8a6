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

/** Wraps a store and a system: the write with the number `at` and all later ones throw. */
export function crashAtWrite(store: Store, system: TargetSystem, { at, when }: CrashPoint) {
  let steps = 0;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps++;
    if (steps > at || (steps === at && when === "before")) throw new Error("died");
    const result = await work();
    if (steps === at) throw new Error("died");
    return result;
  };
  const dying: Store = { ...store, transact: (decide) => step(() => store.transact(decide)) };
  const compareAndSet: TargetSystem["compareAndSet"] = (...request) => step(() => system.compareAndSet(...request));
  return { store: dying, system: { ...system, compareAndSet }, died: () => steps >= at };
}
