/** A target system in memory, which fails, loses answers and is edited by another program as a test asks. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import type { Entry, SetResult, TargetSystem, TargetValue } from "../../lib/targets/port.ts";

const ABSENT: TargetValue = { version: "0" };

/** Faults of the next write. */
export type WriteFault = "lost request" | "lost answer" | "rejected";

export function memoryTarget() {
  const texts = new Map<string, { raw: string; version: string }>();
  const faults: WriteFault[] = [];
  const edits: (() => void)[] = [];
  let version = 0;
  const keyOf = ({ tenant_id, target }: Entry): string => canonicalJson([tenant_id, target]);
  const read = (entry: Entry): TargetValue => {
    const found = texts.get(keyOf(entry));
    return found ? { value: JSON.parse(found.raw), ...found } : ABSENT;
  };
  const write = (entry: Entry, raw: string | undefined): string => {
    const next = String(++version);
    if (raw === undefined) texts.delete(keyOf(entry));
    else texts.set(keyOf(entry), { raw, version: next });
    return raw === undefined ? ABSENT.version : next;
  };
  const system: TargetSystem = {
    name: "memory",
    guard: "atomic",
    check: () => undefined,
    place: (entry) => `memory ${keyOf(entry)}`,
    async read(entry, signal) {
      signal.throwIfAborted();
      return read(entry);
    },
    async compareAndSet(entry, next, expected, _, signal): Promise<SetResult> {
      signal.throwIfAborted();
      edits.shift()?.();
      const fault = faults.shift();
      if (fault === "lost request") throw new Unanswered("the request was lost");
      if (fault === "rejected") return { done: false, rejected: "the system rejects this value" };
      const held = read(entry);
      if (held.version !== expected.version) return { done: false, conflict: held };
      const set = write(entry, next && (next.raw ?? JSON.stringify(next.value)));
      if (fault === "lost answer") throw new Unanswered("the answer was lost");
      return { done: true, version: set };
    },
  };
  return {
    system,
    faults,
    /** Each runs right before the next write, between its read and its comparison. */
    edits,
    /** Sets the text of a target as another program would. */
    overwrite: (entry: Entry, raw: string | undefined): void => void write(entry, raw),
    raw: (entry: Entry): string | undefined => texts.get(keyOf(entry))?.raw,
  };
}
