/** Tests how the verifier splits an export into lines, and recognizes damaged files. */
import { expect, test } from "vitest";
import { findDamage, type LineBatch, readLines } from "../../../local/verify/lines.ts";

/** Reads chunks in one buffer that is reused, as those of a file are. */
async function readBatches(chunks: readonly (string | Buffer)[]): Promise<LineBatch[]> {
  const batches: LineBatch[] = [];
  const pieces = (function* () {
    for (const chunk of chunks) {
      const buffer = Buffer.from(chunk);
      yield buffer;
      buffer.fill("#");
    }
  })();
  for await (const batch of readLines(pieces)) batches.push(batch);
  return batches;
}

const listLines = (batches: readonly LineBatch[]): string[] => batches.flatMap(({ lines }) => lines);

test.each([
  [["one\ntwo\n"], ["one", "two"]],
  [
    ["one\n", "two\n"],
    ["one", "two"],
  ],
  [
    ["o", "n", "e\ntwo\nth", "ree\n"],
    ["one", "two", "three"],
  ],
  [
    ["one", "\ntwo\n"],
    ["one", "two"],
  ],
  [
    ["one\n\n", "\n"],
    ["one", "", ""],
  ],
  [["", "one\n", ""], ["one"]],
  [[], []],
])("the chunks %j have the lines %j", async (chunks, lines) => {
  const batches = await readBatches(chunks);
  expect(listLines(batches)).toEqual(lines);
  expect(batches.every(({ lastState, isText }) => lastState === "ended" && isText)).toBe(true);
});

test("a last line without a line break is returned as not ended", async () => {
  const end = { lines: ["two"], isText: true, lastState: "not ended" };
  expect((await readBatches(["one\ntw", "o"])).at(-1)).toEqual(end);
  expect((await readBatches(["one\n", Buffer.of(0xff)])).at(-1)).toEqual({
    ...end,
    lines: ["\u00ff"],
    isText: false,
  });
});

test("a character that is split between chunks is text, half a character is not", async () => {
  const bytes = Buffer.from("é\n");
  const split = [bytes.subarray(0, 1), bytes.subarray(1)];
  expect((await readBatches(split)).map(({ isText }) => isText)).toEqual([true]);
  expect((await readBatches([bytes.subarray(1)])).map(({ isText }) => isText)).toEqual([false]);
});

const LIMIT = 16 * 1024 * 1024;
const SHOWN = "a".repeat(100);

test("a line of 16 MiB is read, in one chunk or several", async () => {
  const line = Buffer.alloc(LIMIT, "a");
  for (const chunks of [[Buffer.concat([line, Buffer.from("\n")])], [line, "\n"]]) {
    const batches = await readBatches(chunks);
    expect(batches.map(({ lines, lastState }) => [lines[0]!.length, lastState])).toEqual([[LIMIT, "ended"]]);
  }
});

test("reading ends with the beginning of a longer line, after the lines before it", async () => {
  const long = Buffer.alloc(LIMIT + 1, "a");
  const tooLong = { lines: [SHOWN], isText: false, lastState: "too long" };
  expect(await readBatches([Buffer.concat([Buffer.from("one\n"), long, Buffer.from("\nthree\n")]), "four\n"])).toEqual([
    { lines: ["one"], isText: true, lastState: "ended" },
    tooLong,
  ]);
  expect(await readBatches([long.subarray(0, -1), "a", "\nthree\n"])).toEqual([tooLong]);
  const middle = Buffer.concat([Buffer.from("\none\n"), long, Buffer.from("\n")]);
  expect((await readBatches(["zero", middle])).slice(1)).toEqual([{ ...tooLong, lines: ["one", SHOWN] }]);
});

const FIRST = '{"origin":"log"}';

test.each<[line: string, number: number, state: LineBatch["lastState"], beginning: string | undefined]>([
  [FIRST, 1, "ended", undefined],
  [FIRST, 1, "not ended", "its last line is not ended"],
  [`${FIRST}\r`, 1, "ended", "line 1 ends with a carriage return"],
  [`${FIRST}\r`, 1, "too long", undefined],
  ["\u001f\u008b", 1, "ended", "it is compressed"],
  ["\u00ef\u00bb\u00bf{", 1, "ended", "it begins with a byte order mark"],
  ["\u00fe\u00ff", 1, "ended", "it begins with a byte order mark"],
  ["\u00ff\u00fe", 1, "ended", "it begins with a byte order mark"],
  ["<html>", 1, "ended", "it does not begin with an entry of a log"],
  ["countersign-certificate/v1", 1, "ended", "it is the certificate of a change: verify it with certificate"],
  ['{"format":"countersign-export/3","origin":"log"}', 1, "ended", "it is a backup of a store"],
  ["", 1, "ended", "line 1 is empty"],
  ["", 2, "ended", "line 2 is empty"],
  ["\u001f\u008b", 2, "ended", undefined],
  ["\u00ef\u00bb\u00bf{", 2, "ended", undefined],
  ["<html>", 2, "ended", undefined],
])("the line %j as number %i, %s, is explained or accepted", (line, number, state, beginning) => {
  const found = findDamage(line, number, state);
  expect(beginning === undefined ? found : found?.slice(0, beginning.length)).toBe(beginning);
});
