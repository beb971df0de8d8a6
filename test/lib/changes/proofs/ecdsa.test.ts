import { expect, test } from "vitest";
import { parseDerSignature } from "../../../../lib/changes/proofs/ecdsa.ts";

const der = (r: number[], s: number[]): Uint8Array =>
  new Uint8Array([0x30, r.length + s.length + 4, 2, r.length, ...r, 2, s.length, ...s]);
const ONES = Array.from({ length: 32 }, () => 1);

test("two numbers stand to the right of their 32 bytes", () => {
  const raw = parseDerSignature(der([0, 200], ONES))!;
  expect([...raw.slice(0, 32)]).toEqual([...Array.from({ length: 31 }, () => 0), 200]);
  expect([...raw.slice(32)]).toEqual(ONES);
});

test.each<[string, Uint8Array]>([
  ["a zero before a number that needs none", der([0, 1], [1])],
  ["a negative number", der([1], [200])],
  ["no number", der([], [1])],
  ["a number that is too long", der([1, ...ONES], [1])],
  ["more behind it", new Uint8Array([...der([1], [1]), 0])],
  ["another length", der([1], [1]).with(1, 7)],
  ["another kind", der([1], [1]).with(2, 3)],
  ["nothing", new Uint8Array()],
])("is no signature: %s", (_, bytes) => {
  expect(parseDerSignature(bytes)).toBeUndefined();
});
