/** Tests how the verifier parses a certificate's parts, and numbers in DER. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { listFiles, readParts } from "../../../local/verify/container.ts";
import { readElement, readPositiveInteger, readTwoIntegers } from "../../../local/verify/der.ts";

const bytes = (...numbers: number[]): Buffer => Buffer.from(numbers);
/** Returns an element of tag 4 with this many zeros as content; `head` encodes the length. */
const long = (length: number, ...head: number[]): Buffer => Buffer.concat([bytes(4, ...head), Buffer.alloc(length)]);

test.each<[what: string, element: Buffer, contentLength: number | undefined, restLength?: number]>([
  ["one byte", bytes(4, 1, 7), 1, 0],
  ["nothing", bytes(4, 0), 0, 0],
  ["one byte before others", bytes(4, 1, 7, 8, 9), 1, 2],
  ["another tag", bytes(5, 1, 7), undefined],
  ["no length", bytes(4), undefined],
  ["no bytes", bytes(), undefined],
  ["less than its length", bytes(4, 2, 7), undefined],
  ["127 bytes", long(127, 127), 127, 0],
  ["127 bytes, written longer", long(127, 0x81, 127), undefined],
  ["128 bytes", long(128, 0x81, 128), 128, 0],
  ["128 bytes, written longer", long(128, 0x82, 0, 128), undefined],
  ["256 bytes", long(256, 0x82, 1, 0), 256, 0],
  ["a length that is cut", bytes(4, 0x82, 1), undefined],
  ["a length of five bytes", long(1, 0x85, 0, 0, 0, 0, 1), undefined],
  ["a length without an end", bytes(4, 0x80, 0, 0), undefined],
])("a DER element with %s is parsed or rejected", (_, element, contentLength, restLength) => {
  if (contentLength === undefined) return expect(() => readElement(element, 4)).toThrow(RangeError);
  expect(readElement(element, 4).map(({ length }) => length)).toEqual([contentLength, restLength]);
});

test.each<[bytes: Buffer, digits: number[] | undefined]>([
  // A leading 0 is required before a byte from 128 on, which would be negative, and forbidden before others.
  [bytes(1), [1]],
  [bytes(127, 255), [127, 255]],
  [bytes(0, 128), [128]],
  [bytes(0, 127), undefined],
  [bytes(0), undefined],
  [bytes(128), undefined],
  [bytes(), undefined],
])("a positive DER integer of the bytes %j is parsed or rejected", (given, digits) => {
  if (!digits) return expect(() => readPositiveInteger(given)).toThrow(RangeError);
  expect([...readPositiveInteger(given)]).toEqual(digits);
});

test("a signature has two numbers and nothing else", () => {
  // A SEQUENCE (0x30) of INTEGERs (2), each with its length.
  expect(readTwoIntegers(bytes(0x30, 6, 2, 1, 5, 2, 1, 6)).map((one) => [...one])).toEqual([[5], [6]]);
  expect(() => readTwoIntegers(bytes(0x30, 6, 2, 1, 5, 2, 1, 6, 0))).toThrow(RangeError);
  expect(() => readTwoIntegers(bytes(0x30, 9, 2, 1, 5, 2, 1, 6, 2, 1, 7))).toThrow(RangeError);
});

/** Formats a part: a line with its name and length, then its text. */
const part = (name: string, text: string): string => `${name} ${text.length + 1}\n${text}\n`;
const file = (...parts: string[]): Buffer => Buffer.from(`countersign-certificate/v1\n${parts.join("")}`);
const [CONTENT, INTENT, PROOF] = [part("content", "{}"), part("intent", '{"a":1}'), part("proof", "x\nindex 6\n")];

test.each<[what: string, file: Buffer, isRead: boolean]>([
  ["a content and a proof", file(CONTENT, PROOF), true],
  ["an erased content and a proof", file(part("erased", "{}"), PROOF), true],
  ["intents and proofs", file(CONTENT, INTENT, INTENT, PROOF, PROOF), true],
  ["another head", Buffer.from(`countersign-certificate/v2\n${CONTENT}${PROOF}`), false],
  ["no part", file(), false],
  ["no proof", file(CONTENT), false],
  ["no content", file(PROOF), false],
  ["two contents", file(CONTENT, CONTENT, PROOF), false],
  ["an intent behind a proof", file(CONTENT, PROOF, INTENT), false],
  ["a part of another name", file(CONTENT, part("note", "x"), PROOF), false],
  ["an empty part", file("content 0\n", PROOF), false],
  ["a part that is cut", file(CONTENT, PROOF).subarray(0, -1), false],
  ["a part that ends within a line", file("content 2\n{}", PROOF), false],
  ["bytes that are not UTF-8", Buffer.concat([file(CONTENT, PROOF), bytes(255)]), false],
])("a certificate with %s is parsed or rejected", (_, given, isRead) => {
  expect(readParts(given) !== undefined).toBe(isRead);
});

test("the parts of a certificate are listed as files", () => {
  const hash = createHash("sha256").update('{"a":1}').digest("hex");
  // A proof is named by the id of its entry, one more than its index; without an index it counts as the first.
  expect(listFiles(file(CONTENT, INTENT, PROOF, part("proof", "x")))).toEqual([
    ["content.json", "{}"],
    [`intent-${hash}.json`, '{"a":1}'],
    ["7.tlog-proof", "x\nindex 6\n\n"],
    ["1.tlog-proof", "x\n"],
  ]);
  expect(listFiles(file(part("erased", "{}"), PROOF))[0]).toEqual(["erased.json", "{}"]);
});
