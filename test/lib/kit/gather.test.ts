import { expect, test } from "vitest";
import { gather, PAGE_BYTES } from "../../../lib/kit/gather.ts";

const rowsOf = (sizes: readonly number[]) => sizes.map((size, id) => ({ id, size }));

/** Gathers over rows, and says how many were read. */
async function gathered(sizes: readonly number[], options: { limit: number; looked?: number; even?: boolean }) {
  const all = rowsOf(sizes);
  let read = 0;
  const { rows, last, ended } = await gather({
    limit: options.limit,
    maxScanned: options.looked ?? options.limit,
    async read(after: { id: number; size: number } | undefined, count) {
      const from = after === undefined ? 0 : after.id + 1;
      const slice = all.slice(from, from + count);
      read += slice.length;
      return slice;
    },
    isWanted: options.even ? ({ id }) => id % 2 === 0 : undefined,
  });
  return { shown: rows.length, last: last?.id, ended, read };
}

test("returns the requested number of records, read in slices", async () => {
  expect(await gathered(Array(3000).fill(100), { limit: 2500 })).toEqual({
    shown: 2500,
    last: 2499,
    ended: false,
    read: 2500,
  });
  expect(await gathered(Array(30).fill(100), { limit: 40 })).toEqual({ shown: 30, last: 29, ended: true, read: 30 });
  expect(await gathered([], { limit: 40 })).toEqual({ shown: 0, last: undefined, ended: true, read: 0 });
  expect(await gathered(Array(40).fill(100), { limit: 40 })).toMatchObject({ shown: 40, ended: false });
});

test("a filter examines a limited number of records, and stops when the page is full", async () => {
  expect(await gathered(Array(9000).fill(1), { limit: 10, looked: 5000, even: true })).toMatchObject({
    shown: 10,
    last: 18,
    read: 100,
  });
  expect(await gathered(Array(9000).fill(1), { limit: 5000, looked: 5000, even: true })).toEqual({
    shown: 2500,
    last: 4999,
    ended: false,
    read: 5000,
  });
});

test("a page ends at one mebibyte, and few more records are read than returned", async () => {
  const large = await gathered(Array(2000).fill(60_000), { limit: 1000 });
  expect(large).toEqual({ shown: Math.ceil(PAGE_BYTES / 60_000), last: 17, ended: false, read: 100 });
  expect(await gathered([3_000_000, 1], { limit: 5 })).toMatchObject({ shown: 1, last: 0 });
  const later = await gathered([...Array(100).fill(10), ...Array(2000).fill(60_000)], { limit: 1000 });
  expect(later.shown).toBe(118);
});
