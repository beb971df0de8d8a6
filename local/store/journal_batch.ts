/** Commits that are written and synced together. */
import { inner, type Version } from "../../lib/store/engine/view.ts";
import { type lineWriter, operationText } from "./journal_format.ts";

/** A version, and where it lies in its batch. */
export type Placed = readonly [version: Version, offset: number];

/** Learns whether the write became durable; exactly one of the two is called. */
interface Waiter {
  durable(): void;
  failed(error: Error): void;
}

/** Commits that are written and synced together, and who waits for that. */
export interface Batch {
  readonly commits: number;
  readonly waiters: readonly Waiter[];
  add(writes: readonly Version[]): void;
  /** Makes a line of it, behind the commit `previous`. */
  writeTo(line: ReturnType<typeof lineWriter>, previous: number): Placed[];
  /** Resolves when the write is durable. */
  done(): Promise<void>;
}

/** An empty batch. Of what is written several times only the last version goes into it: all are durable, or none. */
export function newBatch(sequences: readonly string[]): Batch {
  const changed = new Map<string, Map<string, Version>>();
  const floors = new Map<string, number>();
  const waiters: Waiter[] = [];
  let commits = 0;

  return {
    get commits() {
      return commits;
    },
    waiters,
    add(writes) {
      commits++;
      for (const version of writes) {
        const byId = inner(changed, version.collection);
        const before = byId.get(version.id);
        if (before && !before.json)
          floors.set(version.collection, Math.max(floors.get(version.collection) ?? 0, before.revision));
        byId.set(version.id, version);
      }
    },
    writeTo(line, previous) {
      const placed: Placed[] = [];
      line.begin({ sequence: previous + commits, previous });
      for (const name of sequences) {
        const records = [...(changed.get(name)?.values() ?? [])];
        if (records.length === 0) continue;
        line.sequence(name, Number(records[0]!.id));
        for (const version of records) placed.push([version, line.add(version.json!.text)]);
        changed.delete(name);
      }
      if (changed.size > 0) line.operations();
      for (const [collection, revision] of floors) {
        const floor = { collection, id: "", revision, json: undefined };
        placed.push([floor, line.add(operationText(floor))]);
      }
      for (const byId of changed.values())
        for (const version of byId.values()) placed.push([version, line.add(operationText(version))]);
      line.end();
      return placed;
    },
    done: () => new Promise((durable, failed) => void waiters.push({ durable, failed })),
  };
}
