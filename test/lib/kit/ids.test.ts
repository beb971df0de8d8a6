/** Ids are UUIDv7 that only increase. */
import { expect, test } from "vitest";
import { risingIds } from "../../../lib/kit/ids.ts";

test("ids are UUIDv7 of the current time", () => {
  const id = risingIds().uuid(Date.UTC(2026, 0, 2));
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(Date.UTC(2026, 0, 2));
});

test("ids increase within one millisecond, and when the clock is set back", () => {
  const ids = risingIds();
  const uuids = [...Array.from({ length: 500 }, () => ids.uuid(1000)), ids.uuid(999), ids.uuid(1), ids.uuid(1001)];
  expect(uuids).toEqual([...uuids].sort());
  expect(new Set(uuids).size).toBe(uuids.length);
});

test("ids increase beyond the last sequence number of a millisecond", () => {
  // The sequence begins one below its end, which no random number of `Math.random` reaches.
  const ids = risingIds(() => 1.9999999995);
  const uuids = Array.from({ length: 4 }, () => ids.uuid(1000));
  expect(uuids).toEqual([...uuids].sort());
  expect(new Set(uuids).size).toBe(4);
  expect(Number.parseInt(uuids[3]!.replace("-", "").slice(0, 12), 16)).toBe(1001);
});
