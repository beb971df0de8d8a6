/** The bytes under which databases sort ids: in the order of UTF-16 code units, as JavaScript sorts texts. */
import { expect, test } from "vitest";
import { keyBounds, requireValidKey, parseId, sortKey } from "../../../../lib/store/engine/record_key.ts";

const CHARACTERS = [
  "\u0000", "\u0001", " ", "0", "A", "a", "\u007f", "\u0080", "é", "\u07ff", "\u0800", "日", "\ud7ff", "\u{10000}", "🙂", "𝒳",
  "\u{3ffff}", "\u{40000}", "\u{10ffff}", "\ue000", "\uefff", "\uf000", "\ufeff", "\ufffd", "\uffff",
]; // prettier-ignore

const TEXTS = CHARACTERS.flatMap((first) => [
  first,
  ...CHARACTERS.flatMap((second) => [first + second, `a${first}${second}`]),
]);

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("an id is parsed back from its sort key, which is as long as its UTF-8", () => {
  for (const text of TEXTS) {
    expect(parseId(sortKey(text))).toBe(text);
    expect(sortKey(text)).toHaveLength(Buffer.byteLength(text));
  }
});

test("sort keys are in the order of the ids by UTF-16 code units", () => {
  const byText = [...new Set(TEXTS)].sort();
  const byBytes = [...byText].sort((a, b) => Buffer.compare(sortKey(a), sortKey(b)));
  expect(byBytes.map((text) => hex(sortKey(text)))).toEqual(byText.map((text) => hex(sortKey(text))));
});

test("the key range of a page contains exactly the records of that page", () => {
  const records = TEXTS.map((id) => ({ id, key: sortKey(id) }));
  const rangeOf = (options: Parameters<typeof keyBounds>[0]) => {
    const bounds = keyBounds(options);
    return (key: Uint8Array): boolean =>
      bounds !== undefined && Buffer.compare(bounds.from, key) <= 0 && Buffer.compare(key, bounds.to) <= 0;
  };
  for (const prefix of ["", ...CHARACTERS])
    for (const after of [undefined, "", ...CHARACTERS, ...CHARACTERS.map((character) => `a${character}`)])
      for (const reverse of [false, true]) {
        const isInside = rangeOf({ prefix, reverse, ...(after !== undefined && { after }) });
        for (const { id, key } of records) {
          const isAfter = after === undefined || (reverse ? id < after : id > after);
          if (isInside(key) !== (id.startsWith(prefix) && isAfter))
            throw new Error(JSON.stringify({ prefix, after, reverse, id }));
        }
      }
});

test("an id without characters from U+E000 is plain UTF-8, readable in the database", () => {
  for (const text of ["chg_0196", "ui.banner\nt1\n", "日本"]) expect(Buffer.from(sortKey(text)).toString()).toBe(text);
});

test("a key needs a collection, and a well-formed id of 1 to 1,000 bytes", () => {
  expect(() => requireValidKey({ collection: "things", id: "x".repeat(1000) })).not.toThrow();
  for (const [collection, id] of [
    ["", "a"],
    ["things", ""],
    ["things", "\udc00"],
    ["things", "é".repeat(501)],
  ] as const)
    expect(() => requireValidKey({ collection, id })).toThrow(TypeError);
});
