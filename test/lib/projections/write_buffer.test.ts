/** The writes of a slice of a projection, which its own reads see before they are stored. */
import { expect, test } from "vitest";
import { sequenceKey } from "../../../lib/projections/buffer.ts";
import { createWriteBuffer } from "../../../lib/projections/write_buffer.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { ListOptions } from "../../../lib/store/store.ts";

test("a page contains written and no deleted records, in either direction", async () => {
  const store = memoryStore();
  // Two transactions, since one may write 99 records.
  for (const from of [1, 51])
    await store.transact((tx) => {
      for (let seq = from; seq < from + 50; seq++) tx.put("closed", sequenceKey(seq), `chg_${seq}`);
    });
  const buffer = createWriteBuffer(store);
  const list = async (options: ListOptions) => (await buffer.list("closed", options)).map(({ id }) => Number(id));
  for (let seq = 1; seq <= 40; seq++) {
    buffer.delete("closed", sequenceKey(seq));
    expect(await list({ limit: 1 })).toEqual([seq + 1]);
  }
  buffer.put("closed", sequenceKey(7), "again");
  buffer.delete("closed", sequenceKey(50));
  expect(await list({ limit: 3 })).toEqual([7, 41, 42]);
  expect(await list({ limit: 2, after: sequenceKey(7) })).toEqual([41, 42]);
  expect(await list({ limit: 2, after: sequenceKey(48) })).toEqual([49, 51]);
  expect(await list({ limit: 100, reverse: true })).toEqual([...(await list({ limit: 100 }))].reverse());
  // The prefix is that of 1 to 9, of which only 7 was written again.
  expect(await list({ limit: 2, prefix: sequenceKey(4).slice(0, -1), after: sequenceKey(6) })).toEqual([7]);
  expect(await buffer.list("closed", { limit: 1, keysOnly: true })).toMatchObject([{ id: sequenceKey(7) }]);
  expect((await buffer.get("closed", sequenceKey(7)))?.value).toBe("again");
  const ids = [50, 7, 60].map(sequenceKey);
  expect((await buffer.getMany("closed", ids)).map((row) => row?.value)).toEqual([undefined, "again", "chg_60"]);
  // 1 to 40 and 50: each record counts once, deleted or written.
  expect(buffer.size).toBe(41);
  const before = await list({ limit: 100 });
  await store.transact((tx) => buffer.flush(tx));
  expect((await store.list("closed", { limit: 100 })).map(({ id }) => Number(id))).toEqual(before);
});
