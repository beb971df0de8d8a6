/** JSON is shortened to a number of bytes: long values are cut, short fields and ids are kept. */
import { describe, expect, test } from "vitest";
import { clipJson } from "../../../lib/kit/clip.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";

const byteLength = (text: string): number => new TextEncoder().encode(text).length;
// oxlint-disable-next-line no-explicit-any -- a shortened value has no type
const clipAndParse = (value: unknown, budget: number): any => {
  const text = clipJson(value, budget);
  expect(byteLength(text)).toBeLessThanOrEqual(budget);
  return JSON.parse(text);
};

const makeChange = (number: number, fields: object = {}) => ({
  change_id: `chg_019a8f3e-6c1e-7b44-9d52-${String(number).padStart(12, "0")}`,
  tenant_id: `t${number}`,
  target: "limits.seats",
  summary: `Raise the limit to ${number}`,
  rationale: "",
  status: "pending_consent",
  approvals: [],
  ...fields,
});

test("a value within the limit is unchanged", () => {
  const value = { data: [makeChange(1), makeChange(2, { value: { a: [1, null, true, 'é "漢" 😀 \u0001\n\ud800'] } })] };
  const complete = JSON.stringify(value);
  for (const budget of [16_000, byteLength(complete)]) expect(clipJson(value, budget)).toBe(complete);
});

describe("in a value above the limit", () => {
  test("one value of forty kilobytes is cut with a count of the omitted part; ten changes are kept", () => {
    const values = ["x".repeat(40_000), Array(5000).fill("seats"), { nested: { text: "y".repeat(40_000) } }];
    for (const value of values) {
      const changes = Array.from({ length: 10 }, (_, at) => makeChange(at, at === 3 ? { value } : {}));
      const { data } = clipAndParse({ data: { changes, next: null } }, 16_000);
      const { value: clipped, ...rest } = data.changes[3];
      expect(JSON.stringify(clipped)).toMatch(/\d+ (?:more )?(?:characters |items |fields )?left out/);
      expect([...data.changes.slice(0, 3), rest, ...data.changes.slice(4)]).toEqual(
        Array.from({ length: 10 }, (_, at) => makeChange(at)),
      );
      expect(data.next).toBeNull();
    }
  });

  test("the longest texts are shortened first, with the number of omitted characters", () => {
    const { a, b, c } = clipAndParse({ a: "short one", b: "b ".repeat(150), c: "c ".repeat(5000) }, 2000);
    expect([a, b]).toEqual(["short one", "b ".repeat(150)]);
    const [, omitted] = /^(?:c )+c?… \((\d+) more characters left out\)$/.exec(c)!;
    expect(Number(omitted) + c.indexOf("…")).toBe(10_000);
  });

  test("the first items of a long list are kept, and the others counted", () => {
    const clipped = clipAndParse(
      Array.from({ length: 500 }, (_, at) => makeChange(at)),
      4000,
    );
    const mark = clipped.pop();
    expect(clipped).toEqual(Array.from({ length: clipped.length }, (_, at) => makeChange(at)));
    expect(clipped.length).toBeGreaterThan(10);
    expect(mark).toBe(`(${500 - clipped.length} more left out)`);
  });

  test("short fields are kept, however many texts precede them", () => {
    const long = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`text_${at}`, "lorem ".repeat(100)]));
    const facts = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`change_${at}`, makeChange(at).change_id]));
    const clipped = clipAndParse({ ...long, ...facts, status: "denied", revision: 3 }, 1000);
    expect(clipped).toMatchObject({ ...facts, status: "denied", revision: 3 });
    expect(clipped["…"]).toMatch(/^\d+ more fields left out$/);
  });

  test("values nested deeper than those of any record are omitted", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
    expect(clipJson(deep, 16_000)).toContain("(deeper levels left out)");
  });

  test("no character is split, and each counts with its full length", () => {
    for (const char of ["😀", "漢", "\u0001", '"', "\ud800", "é"]) {
      const clipped = clipAndParse(char.repeat(3000), 500);
      expect(clipped.startsWith(char.repeat(5))).toBe(true);
      if (char.isWellFormed()) expect(clipped.isWellFormed()).toBe(true);
    }
  });
});

/** Returns a random JSON value: with ids, long texts, long lists, large objects, unusual names, deep nesting. */
function randomValue(below: (limit: number) => number, levels = 4): unknown {
  /** Returns a length from 1 to 4,000; short ones are more frequent. */
  const randomLength = (): number => Math.floor(4000 ** (below(1000) / 1000));
  const randomId = (): string => `chg_019a8f3e-6c1e-7b44-9d52-${String(below(1e12)).padStart(12, "0")}`;
  const generators = [
    () => below(1e9) / 7,
    () => [null, true, false][below(3)],
    randomId,
    () =>
      Array.from(
        { length: randomLength() },
        () => [`${randomId()} `, "a ", "漢字", "😀 ", '"\\\n', " and ", "\u0000"][below(7)],
      ).join(""),
    () => Array.from({ length: randomLength() / 8 }, randomId).join(", "),
    () => Array.from({ length: below(9) }, () => randomValue(below, levels - 1)),
    () => Array.from({ length: randomLength() }, () => below(100)),
    () =>
      Object.fromEntries(
        Array.from({ length: below(9) }, (_, at) => [
          below(20) === 0 ? ["__proto__", "…", "toJSON", "n".repeat(randomLength())][below(4)] : `field_${at}`,
          randomValue(below, levels - 1),
        ]),
      ),
  ];
  // The first five generators make no nested values.
  return generators[below(levels > 0 ? generators.length : 5)]!();
}

test("any input results in JSON within the limit, with complete ids", () => {
  const below = seededIntegers(17);
  for (let run = 0; run < 150; run++) {
    const value = { data: randomValue(below) };
    const budget = 4 + below(1 + below(20_000));
    const text = clipJson(value, budget);
    expect(byteLength(text), `run ${run}`).toBeLessThanOrEqual(budget);
    expect(() => JSON.parse(text) as unknown, `run ${run}`).not.toThrow();
    const complete = JSON.stringify(value);
    for (const [id] of text.matchAll(/chg_[0-9a-f-]*/g))
      expect([complete.includes(id), id.length], `run ${run}`).toEqual([true, 40]);
  }
});
