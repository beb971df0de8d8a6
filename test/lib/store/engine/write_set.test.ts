/** The reads and writes of one transaction: revisions, conflicts, repeated reads, deletes, and pages with own writes. */
import { expect, test } from "vitest";
import type { Version, View } from "../../../../lib/store/engine/view.ts";
import { mergeList, writeSet } from "../../../../lib/store/engine/write_set.ts";
import { json } from "../../../../lib/store/json.ts";
import type { ListOptions } from "../../../../lib/store/store.ts";
import type { AnyTx } from "../../../contract/any_store.ts";

interface StoredVersion {
  id: string;
  revision: number;
  deleted?: true;
}

/** Begins a transaction over a view, without the types of collections. */
function beginTx(view: View) {
  const { tx, ...rest } = writeSet(view);
  return { tx: tx as AnyTx, ...rest };
}

/** Creates a view of some versions in one collection that records the ids of each read. */
function viewOver(versions: readonly StoredVersion[]): View & { readIds: string[][] } {
  const readIds: string[][] = [];
  return {
    readIds,
    async versions(keys) {
      readIds.push(keys.map(({ id }) => id));
      return keys.map(({ collection, id }) => {
        const found = versions.find((version) => version.id === id);
        return found && { collection, id, revision: found.revision, json: found.deleted ? undefined : json(1) };
      });
    },
    list: async () => [],
  };
}

test("revisions are not read for each put, but together at the end", async () => {
  const view = viewOver([
    { id: "b", revision: 7 },
    { id: "c", revision: 3, deleted: true },
  ]);
  const { tx, end, writes } = beginTx(view);
  for (const id of ["a", "b", "c"]) tx.put("things", id, { id });
  end();
  expect(view.readIds).toEqual([]);
  const written = await writes();
  expect(written.map(({ id, revision }) => [id, revision])).toEqual([
    ["a", 1],
    ["b", 8],
    ["c", 4],
  ]);
  expect(view.readIds).toEqual([["a", "b", "c"]]);
});

test("a rejected write ends the transaction although the decision caught the error", async () => {
  const { tx, end, writes } = beginTx(viewOver([]));
  tx.put("things", "kept", 1);
  expect(() => tx.put("things", "a", Number.NaN)).toThrow(TypeError);
  expect(() => tx.put("things", "", 1)).toThrow(TypeError);
  end();
  await expect(async () => writes()).rejects.toThrow(/things\/a cannot be stored/);
});

test("a conflict in a read of an own write ends the transaction even if the decision catches it", async () => {
  const { tx, end, writes } = beginTx(viewOver([{ id: "a", revision: 2 }]));
  tx.put("things", "a", 2, 1);
  await expect(tx.get("things", "a")).rejects.toThrow(/expected revision 1, found 2/);
  end();
  await expect(async () => writes()).rejects.toThrow(/expected revision 1, found 2/);
});

test("a record is read once, for further reads and for a put", async () => {
  const view = viewOver([{ id: "a", revision: 7 }]);
  const { tx, end, writes } = beginTx(view);
  await tx.get("things", "a");
  expect((await tx.getMany("things", ["a", "b"])).map((stored) => stored?.revision)).toEqual([7, undefined]);
  for (const id of ["a", "b", "c"]) tx.put("things", id, 1);
  end();
  expect((await writes()).map(({ revision }) => revision)).toEqual([8, 1, 1]);
  expect(view.readIds).toEqual([["a"], ["b"], ["c"]]);
});

test("reads and writes after the end are rejected", async () => {
  const { tx, end } = beginTx(viewOver([]));
  end();
  expect(() => tx.put("things", "a", 1)).toThrow(/has ended/);
  await expect(tx.get("things", "a")).rejects.toThrow(/has ended/);
  await expect(tx.list("things", { limit: 1 })).rejects.toThrow(/has ended/);
});

test("deleting a missing record writes nothing; a deleted record keeps its revision", async () => {
  const { tx, end, writes } = beginTx(viewOver([{ id: "b", revision: 7 }]));
  tx.delete("things", "a");
  tx.delete("things", "b", 7);
  tx.put("things", "c", 1);
  tx.delete("things", "c");
  end();
  const written = await writes();
  // The put of c had revision 1, so its delete is written with this revision.
  expect(written.map(({ id, revision, json }) => [id, revision, json?.value])).toEqual([
    ["b", 7, undefined],
    ["c", 1, undefined],
  ]);
});

test("a page is read with a higher limit only if writes of the transaction hide some of it", () => {
  const version = (id: string): Version => ({ collection: "things", id, revision: 1, json: json(id) });
  // The higher limit adds the number of own writes in the range of the page, since each may hide one row.
  const writes = new Map(["a/1", "a/3", "b/1"].map((id) => [id, version(id)]));
  const requestedLimits = (options: ListOptions, rows: string[]): number[] => {
    const limits: number[] = [];
    mergeList(writes, options, (below) => {
      limits.push(below.limit);
      return rows.slice(0, below.limit).map(version);
    });
    return limits;
  };
  expect(requestedLimits({ limit: 2, prefix: "a/" }, ["a/1", "a/2", "a/4"])).toEqual([2, 4]);
  expect(requestedLimits({ limit: 2, prefix: "a/", after: "a/2" }, ["a/3", "a/4"])).toEqual([2, 3]);
  expect(requestedLimits({ limit: 2, prefix: "a/" }, ["a/2", "a/4"])).toEqual([2]);
  expect(requestedLimits({ limit: 3, prefix: "a/" }, ["a/1", "a/2"])).toEqual([3]);
  expect(requestedLimits({ limit: 2, prefix: "c/" }, ["c/1", "c/2"])).toEqual([2]);
});
