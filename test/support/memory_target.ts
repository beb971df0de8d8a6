/** A target system in memory; a test makes writes fail, loses answers and edits values. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import type { Entry, SetManyResult, TargetSystem, TargetValue, Write } from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";

const ABSENT: TargetValue = { version: "0" };

/** A fault of a write. */
export type WriteFault = "lost request" | "lost answer" | "rejected";

export function memoryTarget() {
  const texts = new Map<string, { raw: string; version: string }>();
  const faults: WriteFault[] = [];
  const edits: (() => void)[] = [];
  let version = 0;
  const targetKey = ({ tenant_id, target }: Entry): string => canonicalJson([tenant_id, target]);
  const read = (entry: Entry): TargetValue => {
    const found = texts.get(targetKey(entry));
    return found ? { value: JSON.parse(found.raw), ...found } : ABSENT;
  };
  const write = (entry: Entry, raw: string | undefined): string => {
    const next = String(++version);
    if (raw === undefined) texts.delete(targetKey(entry));
    else texts.set(targetKey(entry), { raw, version: next });
    return raw === undefined ? ABSENT.version : next;
  };
  const setMany = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    signal.throwIfAborted();
    edits.shift()?.();
    const fault = faults.shift();
    if (fault === "lost request") throw new Unanswered("the request was lost");
    if (fault === "rejected") return { done: false, rejected: "the system rejects this value" };
    const current = writes.map(({ entry }) => read(entry));
    const index = writes.findIndex(({ expected }, position) => current[position]!.version !== expected.version);
    if (index >= 0) return { done: false, index, conflict: current[index]! };
    const versions = writes.map(({ entry, next }) => write(entry, next && (next.raw ?? JSON.stringify(next.value))));
    if (fault === "lost answer") throw new Unanswered("the answer was lost");
    return { done: true, versions };
  };
  const system: TargetSystem = {
    name: "memory",
    guard: "atomic",
    check: () => undefined,
    place: (entry) => `memory ${targetKey(entry)}`,
    async read(entry, signal) {
      signal.throwIfAborted();
      return read(entry);
    },
    setMany,
    compareAndSet: makeCompareAndSet(setMany),
    // A share of 10,000 is all users, who need no split.
    split: ({ value }, { share, ...by }, before) => ({
      value: share === 10_000 ? value : { $treated: { value, share, ...by }, rest: before.value ?? null },
      version: "",
    }),
  };
  return {
    system,
    /** Faults of the next writes, in order. */
    faults,
    /** Edits by another program. Each runs once, in the next write, before the comparison. */
    edits,
    /** Sets the text of a target as another program does. */
    overwrite: (entry: Entry, raw: string | undefined): void => void write(entry, raw),
    raw: (entry: Entry): string | undefined => texts.get(targetKey(entry))?.raw,
  };
}
