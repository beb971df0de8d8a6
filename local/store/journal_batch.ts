/** Batches of commits, each written as one line of the journal and synced once. */
import { getInnerMap, type Version } from "../../lib/store/engine/view.ts";
import { type createLineWriter, operationText } from "./journal_format.ts";

/** A version, and its offset in the line of its batch. */
export type LocatedVersion = readonly [version: Version, offset: number];

/** Callbacks of a caller that waits for the write; exactly one of the two is called. */
interface Waiter {
  durable(): void;
  failed(error: Error): void;
}

/** Commits of one line, with the callers that wait until it is durable. */
export interface Batch {
  readonly commits: number;
  readonly waiters: readonly Waiter[];
  add(writes: readonly Version[]): void;
  /** Writes the line of the batch, which continues the commit `previous`; called once. */
  writeTo(line: ReturnType<typeof createLineWriter>, previous: number): LocatedVersion[];
  /** Resolves when the write is durable. */
  done(): Promise<void>;
}

/**
 * Creates an empty batch; `sequences`: the collections whose ids are consecutive numbers. A batch has only the last version of
 * each record, since its commits are durable together or not at all.
 */
export function newBatch(sequences: readonly string[]): Batch {
  const changed = new Map<string, Map<string, Version>>();
  /**
   * By collection: the highest revision of a deletion that this batch drops, because a later commit of it wrote the same record
   * again. In memory the deletion has raised the floor, above which the revisions of new records begin (`Catalog.floor`); with
   * this figure in the journal, a restart finds the same floor.
   */
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
        const byId = getInnerMap(changed, version.collection);
        const replaced = byId.get(version.id);
        if (replaced && !replaced.json)
          floors.set(version.collection, Math.max(floors.get(version.collection) ?? 0, replaced.revision));
        byId.set(version.id, version);
      }
    },
    writeTo(line, previous) {
      const located: LocatedVersion[] = [];
      line.begin({ sequence: previous + commits, previous });
      for (const name of sequences) {
        const records = [...(changed.get(name)?.values() ?? [])];
        if (records.length === 0) continue;
        // The line has only the first id: the others are the next numbers, and no record of a sequence is deleted.
        line.sequence(name, Number(records[0]!.id));
        for (const version of records) located.push([version, line.add(version.json!.text)]);
        changed.delete(name);
      }
      if (changed.size > 0) line.operations();
      for (const [collection, revision] of floors) {
        // The journal states a floor as the deletion of an empty id.
        const floor = { collection, id: "", revision, json: undefined };
        located.push([floor, line.add(operationText(floor))]);
      }
      for (const byId of changed.values())
        for (const version of byId.values()) located.push([version, line.add(operationText(version))]);
      line.end();
      return located;
    },
    done: () => new Promise((durable, failed) => void waiters.push({ durable, failed })),
  };
}
