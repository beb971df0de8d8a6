/** Parsing of DER signatures of ECDSA keys. */
import { expect, test } from "vitest";
import { parseDerSignature } from "../../../../lib/changes/proofs/ecdsa.ts";

/** Encodes the two numbers of a signature in DER: a sequence (type 0x30) of two integers (type 2), each with its length. */
const encodeDer = (r: number[], s: number[]): Uint8Array =>
  new Uint8Array([0x30, r.length + s.length + 4, 2, r.length, ...r, 2, s.length, ...s]);
const ONES = Array.from({ length: 32 }, () => 1);

test("both numbers of a signature are padded on the left to 32 bytes", () => {
  // A number whose first bit is set, such as 200, has a leading zero in DER: without it, it is negative.
  const raw = parseDerSignature(encodeDer([0, 200], ONES))!;
  expect([...raw.slice(0, 32)]).toEqual([...Array.from({ length: 31 }, () => 0), 200]);
  expect([...raw.slice(32)]).toEqual(ONES);
});

test.each<[string, Uint8Array]>([
  ["an unneeded leading zero", encodeDer([0, 1], [1])],
  ["a negative number", encodeDer([1], [200])],
  ["an empty number", encodeDer([], [1])],
  ["a number that is too long", encodeDer([1, ...ONES], [1])],
  ["a byte after the end", new Uint8Array([...encodeDer([1], [1]), 0])],
  ["a wrong length", encodeDer([1], [1]).with(1, 7)],
  ["a wrong type", encodeDer([1], [1]).with(2, 3)],
  ["no bytes", new Uint8Array()],
])("bytes that are not a DER signature are rejected: %s", (_, bytes) => {
  expect(parseDerSignature(bytes)).toBeUndefined();
});
