/** Tests the verifier's reader of DER: every number has one encoding, and any other one is rejected. */
import { expect, test } from "vitest";
import { readElement, readPositiveInteger, readTwoIntegers } from "../../../local/verify/der.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const zeros = (length: number): string => "00".repeat(length);

test.each<[what: string, hex: string, contentLength: number, restLength: number]>([
  ["no content", "3000", 0, 0],
  ["a content of one byte", "300105", 1, 0],
  ["bytes after it", "300105ff", 1, 1],
  ["127 bytes", `307f${zeros(127)}`, 127, 0],
  ["128 bytes", `308180${zeros(128)}`, 128, 0],
  ["255 bytes", `3081ff${zeros(255)}`, 255, 0],
  ["256 bytes", `30820100${zeros(256)}`, 256, 0],
])("an element with %s is read", (_, hex, contentLength, restLength) => {
  expect(readElement(bytes(hex), 0x30).map(({ length }) => length)).toEqual([contentLength, restLength]);
});

test.each([
  ["no bytes", ""],
  ["a tag without a length", "30"],
  ["another tag", "3100"],
  ["less content than its length", "300200"],
  ["a length that needs no second byte", `30817f${zeros(127)}`],
  ["a length with a leading zero", `30820080${zeros(128)}`],
  ["a length of no bytes", `3080${zeros(128)}`],
  ["a length that is cut", "308201"],
  ["a length of four bytes that is cut", "30840100"],
  ["a length of five bytes", "30850000000000"],
  ["a length of 127 bytes", `30ff${zeros(127)}`],
])("an element with %s is rejected", (_, hex) => {
  expect(() => readElement(bytes(hex), 0x30)).toThrow(RangeError);
});

test.each<[number: string, hex: string, expected: string]>([
  ["1", "01", "01"],
  ["127", "7f", "7f"],
  ["128", "0080", "80"],
])("the encoding of %s is read without the byte of its sign", (_, hex, expected) => {
  expect(readPositiveInteger(bytes(hex))).toEqual(bytes(expected));
});

test.each([
  ["nothing", ""],
  ["0", "00"],
  ["-1", "ff"],
  ["127 with a leading zero", "007f"],
])("the encoding of %s is no positive number", (_, hex) => {
  expect(() => readPositiveInteger(bytes(hex))).toThrow(RangeError);
});

test("two numbers are read, and bytes after them or in their sequence are rejected", () => {
  expect(readTwoIntegers(bytes("3006020105020107"))).toEqual([bytes("05"), bytes("07")]);
  expect(() => readTwoIntegers(bytes("300602010502010700"))).toThrow("more than two numbers");
  expect(() => readTwoIntegers(bytes("3009020105020107020109"))).toThrow("more than two numbers");
  expect(() => readTwoIntegers(bytes("3003020105"))).toThrow(RangeError);
});
