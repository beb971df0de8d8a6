/** A page of records is gathered in slices, within limits of records and bytes. */
import { expect, test } from "vitest";
import { gather, PAGE_BYTES } from "../../../lib/kit/gather.ts";

const makeRows = (sizes: readonly number[]) => sizes.map((size, id) => ({ id, size }));

/** Gathers a page of rows of these sizes, and counts the rows that were read; `even` filters for even ids. */
async function gatherRows(sizes: readonly number[], options: { limit: number; maxScanned?: number; even?: boolean }) {
  const all = makeRows(sizes);
  let read = 0;
  const { rows, last, ended } = await gather({
    limit: options.limit,
    maxScanned: options.maxScanned ?? options.limit,
    async read(after: { id: number; size: number } | undefined, count) {
      const from = after === undefined ? 0 : after.id + 1;
      const slice = all.slice(from, from + count);
      read += slice.length;
      return slice;
    },
    isWanted: options.even ? ({ id }) => id % 2 === 0 : undefined,
  });
  return { returned: rows.length, last: last?.id, ended, read };
}

test("returns the requested number of records, read in slices", async () => {
  expect(await gatherRows(Array(3000).fill(100), { limit: 2500 })).toEqual({
    returned: 2500,
    last: 2499,
    ended: false,
    read: 2500,
  });
  expect(await gatherRows(Array(30).fill(100), { limit: 40 })).toEqual({
    returned: 30,
    last: 29,
    ended: true,
    read: 30,
  });
  expect(await gatherRows([], { limit: 40 })).toEqual({ returned: 0, last: undefined, ended: true, read: 0 });
  expect(await gatherRows(Array(40).fill(100), { limit: 40 })).toMatchObject({ returned: 40, ended: false });
});

test("a filter examines a limited number of records, and stops when the page is full", async () => {
  // The first slice, of 100 records, already fills the page.
  expect(await gatherRows(Array(9000).fill(1), { limit: 10, maxScanned: 5000, even: true })).toMatchObject({
    returned: 10,
    last: 18,
    read: 100,
  });
  expect(await gatherRows(Array(9000).fill(1), { limit: 5000, maxScanned: 5000, even: true })).toEqual({
    returned: 2500,
    last: 4999,
    ended: false,
    read: 5000,
  });
});

test("a page ends with the record that reaches one mebibyte", async () => {
  // 18 records of 60,000 bytes reach it, in the first slice of 100.
  const large = await gatherRows(Array(2000).fill(60_000), { limit: 1000 });
  expect(large).toEqual({ returned: Math.ceil(PAGE_BYTES / 60_000), last: 17, ended: false, read: 100 });
  // A page has at least one record.
  expect(await gatherRows([3_000_000, 1], { limit: 5 })).toMatchObject({ returned: 1, last: 0 });
  const later = await gatherRows([...Array(100).fill(10), ...Array(2000).fill(60_000)], { limit: 1000 });
  // All 100 small records, and 18 large ones.
  expect(later.returned).toBe(118);
});
