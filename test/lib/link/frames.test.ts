/** Frames of the link: their format, chunks, and maximum lengths. */
import { describe, expect, test } from "vitest";
import {
  type Frame,
  makeFrame,
  type FrameReader,
  createFrameReader,
  MAX_PROVEN_BYTES,
  MAX_UNPROVEN_BYTES,
} from "../../../lib/link/frames.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);
const readAll = (reader: FrameReader, limit = MAX_UNPROVEN_BYTES): Frame[] => {
  const frames: Frame[] = [];
  for (let frame = reader.next(limit); frame; frame = reader.next(limit)) frames.push(frame);
  return frames;
};

test("a frame consists of the big-endian length of its type and body, the type and the body", () => {
  expect(makeFrame(3, bytes(9, 8))).toEqual(bytes(0, 0, 0, 3, 3, 9, 8));
  expect(makeFrame(1, new Uint8Array(0x1234)).subarray(0, 5)).toEqual(bytes(0, 0, 0x12, 0x35, 1));
});

test.each([1, 2, 3, 5, 7, 64])("chunks of %i bytes result in the same frames", (size) => {
  const sent = [makeFrame(1, bytes(1, 2, 3)), makeFrame(6, bytes()), makeFrame(4, new Uint8Array(200).fill(7))];
  const stream = Uint8Array.from(sent.flatMap((frame) => [...frame]));
  const reader = createFrameReader();
  const read: Frame[] = [];
  for (let start = 0; start < stream.length; start += size) {
    reader.push(stream.slice(start, start + size));
    read.push(...readAll(reader));
  }
  expect(read.map((frame) => frame.bytes)).toEqual(sent);
  expect(read.map(({ type, body }) => [type, body.length])).toEqual([
    [1, 3],
    [6, 0],
    [4, 200],
  ]);
  expect(reader.buffered).toBe(0);
});

describe("the length of a frame:", () => {
  test.each([
    ["zero", [0, 0, 0, 0], MAX_UNPROVEN_BYTES],
    ["one above 1 KiB before proof", [0, 0, 4, 1], MAX_UNPROVEN_BYTES],
    ["one above 256 KiB after it", [0, 4, 0, 1], MAX_PROVEN_BYTES],
    ["the greatest", [255, 255, 255, 255], MAX_PROVEN_BYTES],
  ])("%s is rejected at its fourth byte, before memory is allocated", (_, head, limit) => {
    const reader = createFrameReader();
    reader.push(bytes(...head.slice(0, 3)));
    expect(reader.next(limit)).toBeUndefined();
    reader.push(bytes(head[3]!));
    expect(() => reader.next(limit)).toThrow(/1 to \d+ are allowed/);
    expect(reader.buffered).toBeLessThanOrEqual(4);
  });

  test("lengths at the limits are allowed", () => {
    for (const [head, limit] of [
      [[0, 0, 4, 0], MAX_UNPROVEN_BYTES],
      [[0, 4, 0, 0], MAX_PROVEN_BYTES],
    ] as const) {
      const reader = createFrameReader();
      reader.push(bytes(...head));
      expect(reader.next(limit)).toBeUndefined();
      // Memory is allocated for the frame and its length.
      expect(reader.buffered).toBe(limit + 4);
    }
  });
});
