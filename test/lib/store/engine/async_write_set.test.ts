import { expect, test } from "vitest";
import { asyncDraft, type AsyncView } from "../../../../lib/store/engine/async_write_set.ts";
import type { Version } from "../../../../lib/store/engine/write_set.ts";

/** A view over these versions of one collection, and the keys that were asked of it. */
function viewOver(versions: readonly Omit<Version, "collection">[]): AsyncView & { asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    async versions(keys) {
      asked.push(keys.map(({ id }) => id));
      return keys.map(({ collection, id }) => {
        const version = versions.find((one) => one.id === id);
        return version && { collection, ...version };
      });
    },
    list: async () => [],
  };
}

test("revisions are not read when something is put, and then all at once", async () => {
  const view = viewOver([
    { id: "b", revision: 7, text: "1" },
    { id: "c", revision: 3, text: undefined },
  ]);
  const { tx, end, writes } = asyncDraft(view);
  for (const id of ["a", "b", "c"]) tx.put("things", id, { id });
  end();
  expect(view.asked).toEqual([]);
  const written = [...(await writes()).get("things")!.values()];
  expect(written.map(({ id, revision }) => [id, revision])).toEqual([
    ["a", 1],
    ["b", 8],
    ["c", 4],
  ]);
  expect(view.asked).toEqual([["a", "b", "c"]]);
});

test("what was refused ends the transaction although the decision caught it", async () => {
  const { tx, end, writes } = asyncDraft(viewOver([]));
  tx.put("things", "kept", 1);
  expect(() => tx.put("things", "a", Number.NaN)).toThrow(TypeError);
  expect(() => tx.put("things", "", 1)).toThrow(TypeError);
  end();
  await expect(writes()).rejects.toThrow(/things\/a cannot be stored/);
});

test("a conflict that a read of an own write met ends the transaction although the decision caught it", async () => {
  const { tx, end, writes } = asyncDraft(viewOver([{ id: "a", revision: 2, text: "1" }]));
  tx.put("things", "a", 2, 1);
  await expect(tx.get("things", "a")).rejects.toThrow(/expected revision 1, found 2/);
  end();
  await expect(writes()).rejects.toThrow(/expected revision 1, found 2/);
});

test("nothing is read or written after the end", async () => {
  const { tx, end } = asyncDraft(viewOver([]));
  end();
  expect(() => tx.put("things", "a", 1)).toThrow(/has ended/);
  await expect(tx.get("things", "a")).rejects.toThrow(/has ended/);
  await expect(tx.list("things", { limit: 1 })).rejects.toThrow(/has ended/);
});

test("deleting what is not there is no write; a revision stays with what is deleted", async () => {
  const { tx, end, writes } = asyncDraft(viewOver([{ id: "b", revision: 7, text: "1" }]));
  tx.delete("things", "a");
  tx.delete("things", "b", 7);
  tx.put("things", "c", 1);
  tx.delete("things", "c");
  end();
  const written = [...(await writes()).get("things")!.values()];
  expect(written.map(({ id, revision, text }) => [id, revision, text])).toEqual([
    ["b", 7, undefined],
    ["c", 1, undefined],
  ]);
});
