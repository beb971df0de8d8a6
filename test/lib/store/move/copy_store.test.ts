/** Copies of a store during writes, and the memory that a copy needs. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { sequenceId } from "../../../../lib/store/collections.ts";
import { json } from "../../../../lib/store/json.ts";
import { copyStore } from "../../../../lib/store/move/copy_store.ts";
import type { Version } from "../../../../lib/store/version.ts";

const value = json(true);
const record = (collection: string, id: string, revision = 1): Version => ({ collection, id, revision, json: value });
const deletedRecord = (collection: string, id: string, revision: number): Version => ({
  collection,
  id,
  revision,
  json: undefined,
});

/** Returns a store that dumps these pages, one dump after another. */
function storeWithDumps(...dumps: (() => Iterable<readonly Version[]>)[]) {
  return {
    atOneMoment: false,
    commit: async () => undefined,
    async *dump() {
      yield* dumps.shift()!();
    },
  };
}

test("added entries, changed records and deletions are copied", async () => {
  const log = (...numbers: number[]): Version[] => numbers.map((number) => record("audit", sequenceId(number)));
  // A deleted record without an id states the highest revision of the deleted records of its collection.
  const from = storeWithDumps(
    () => [
      log(1, 2, 3),
      [record("tasks", "a"), record("tasks", "b"), record("tasks", "c")],
      [deletedRecord("tasks", "", 4)],
    ],
    () => [
      log(1, 2, 3, 4, 5),
      [record("tasks", "a"), record("tasks", "c", 2), record("tasks", "d")],
      [deletedRecord("tasks", "", 5)],
    ],
  );
  const pages: (readonly Version[])[] = [];
  for await (const page of copyStore(from, { move: "m" })) pages.push(page);
  // The first three pages are the first dump. A record that the second one lacks is deleted, with the revision of its copy.
  expect(pages.slice(3)).toEqual([
    log(4, 5),
    [record("tasks", "c", 2), record("tasks", "d")],
    [deletedRecord("tasks", "", 5)],
    [deletedRecord("tasks", "b", 1)],
  ]);
});

test("a copy keeps only the end of the log in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const measureHeap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const LENGTH = 300_000;
  function* log(): Generator<Version[]> {
    for (let from = 1; from <= LENGTH; from += 100)
      yield Array.from({ length: 100 }, (_, index) => record("audit", sequenceId(from + index)));
  }
  let heapBetween = 0;
  const from = storeWithDumps(log, function* () {
    heapBetween = measureHeap();
    yield* log();
  });
  const heapBefore = measureHeap();
  // The second dump has the same entries, so each is copied once.
  let copied = 0;
  for await (const page of copyStore(from, { move: "m" })) copied += page.length;
  expect(copied).toBe(LENGTH);
  expect(heapBetween - heapBefore).toBeLessThan(5_000_000);
});
