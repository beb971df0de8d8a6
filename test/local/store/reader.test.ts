/** Verifies that a page is read in few calls, and that damage in it is reported with its position. */
import { expect, test } from "vitest";
import { packLocation } from "../../../local/store/catalog.ts";
import type { Files } from "../../../local/store/files.ts";
import { StoreDamaged } from "../../../local/store/journal_format.ts";
import { newReader } from "../../../local/store/reader.ts";
import type { Segment } from "../../../local/store/segment.ts";

const FILE = 1;

/** Returns a reader of a file with these operations, and their offsets in the file. */
function makeReader(...operations: string[]) {
  const bytes = Buffer.from(operations.join(""));
  let calls = 0;
  const read: Files["read"] = async (_, buffer, length, position) => {
    calls++;
    return bytes.copy(buffer, 0, position, position + length);
  };
  const locations = operations.map((_, index) =>
    // A location is a file number and an offset.
    packLocation(FILE, Buffer.byteLength(operations.slice(0, index).join(""))),
  );
  const reader = newReader({ read } as Files, () => ({ fd: 3, path: "journal" }) as Segment, []);
  return { reader, locations, calls: () => calls };
}

/** Returns the text of an operation in the journal; a tab ends it. */
const operation = (id: string, value: unknown, end = "\t"): string =>
  `${JSON.stringify(["notes", id, 1, value])}${end}`;
const LONG = "x".repeat(9000);

test("adjacent operations are read in one call, and a long one in further calls", async () => {
  const { reader, locations, calls } = makeReader(operation("a", 1), operation("b", 2), operation("c", LONG));
  const page = locations.map((location, index) => ["abc"[index]!, location] as const);
  expect((await reader.readAll("notes", page)).map(({ id, json }) => [id, json!.value])).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", LONG],
  ]);
  // The first call reads 4 KiB; the long operation does not end in them, and is read by two calls, of 4 and of 32 KiB.
  expect(calls()).toBe(3);
});

test.each(["", "!"])("an operation that ends with %j, before a long one, is reported as damaged", async (end) => {
  const { reader, locations } = makeReader(operation("a", 1), operation("b", 2, end), operation("c", LONG));
  const page = locations.map((location, index) => ["abc"[index]!, location] as const);
  const [a, b, c] = await reader.readAll("notes", page);
  expect([a?.json?.value, c?.json?.value]).toEqual([1, LONG]);
  expect(() => b?.json?.value ?? "nothing").toThrow(StoreDamaged);
});
