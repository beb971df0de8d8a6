// settings_system.ts
import { type Entry, TargetRejected, type TargetSystem, type TargetValue } from "countersign";

interface Row {
  text: string;
  version: string;
}

/** A table of the application; `rows` stands for your database. */
export function settingsSystem(rows = new Map<string, Row>()): TargetSystem {
  let writes = 0;
  const keyOf = ({ tenant_id, target }: Entry): string => JSON.stringify([tenant_id, target]);

  const readRow = (entry: Entry): TargetValue => {
    const row = rows.get(keyOf(entry));
    if (!row) return { version: "none" }; // nothing there: no `value`
    return { value: parse(row.text), version: row.version, raw: row.text };
  };

  return {
    name: "settings",
    guard: "atomic",
    check: ({ value }) =>
      JSON.stringify(value ?? null).length > 10_000 ? "the value has more than 10,000 characters" : undefined,
    place: (entry) => `settings table ${keyOf(entry)}`,

    async read(entry, signal) {
      signal.throwIfAborted();
      return readRow(entry);
    },

    async compareAndSet(entry, next, expected, attempt, signal) {
      signal.throwIfAborted();
      const current = readRow(entry);
      if (current.version !== expected.version) return { done: false, conflict: current };
      if (next === undefined) {
        rows.delete(keyOf(entry));
        return { done: true, version: "none" };
      }
      const version = `${attempt.change_id} ${++writes}`;
      rows.set(keyOf(entry), { text: next.raw ?? JSON.stringify(next.value), version });
      return { done: true, version };
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TargetRejected("the row holds no JSON; correct it by hand");
  }
}
