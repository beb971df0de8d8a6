/** A target system for scenarios: values in memory. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { Entry, SetManyResult, TargetSystem, TargetValue, Write } from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";

const ABSENT: TargetValue = { version: "0" };

/** Creates an empty target system that accepts every value. */
export function createMemoryTarget(): TargetSystem {
  const values = new Map<string, TargetValue>();
  let version = 0;
  const keyOf = ({ tenant_id, target }: Entry): string => canonicalJson([tenant_id, target]);
  const read = (entry: Entry): TargetValue => values.get(keyOf(entry)) ?? ABSENT;
  const write = ({ entry, next }: Write): string => {
    if (next === undefined) values.delete(keyOf(entry));
    else values.set(keyOf(entry), { ...next, version: String(++version) });
    return read(entry).version;
  };
  const setMany = async (writes: readonly Write[]): Promise<SetManyResult> => {
    const index = writes.findIndex(({ entry, expected }) => read(entry).version !== expected.version);
    if (index >= 0) return { done: false, index, conflict: read(writes[index]!.entry) };
    return { done: true, versions: writes.map(write) };
  };
  return {
    name: "memory",
    guard: "atomic",
    check: () => undefined,
    place: (entry) => `memory ${keyOf(entry)}`,
    read: async (entry) => read(entry),
    setMany,
    compareAndSet: makeCompareAndSet(setMany),
    // A change without a value needs no write.
    note: async () => undefined,
  };
}
