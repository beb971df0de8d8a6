/**
 * JSON within a number of bytes. What is too much is cut where it lies, and marked: the longest parts give way first, short
 * facts such as ids are whole or absent, and what comes out is JSON whatever went in.
 */

/** Texts of so many characters are never cut: ids, digests, times, most names. */
const SHORT = 80;
/** Minimum size of each part, in bytes, as long as there is room for all of them. */
const LEAST = { text: 240, nested: 96, record: 1500 };
/** Room for a mark that says how much is left out; none is longer. */
const MARK = 56;
/** Deeper than any record of ours, of a change its value apart. */
const LEVELS = 12;

/** A value with what its JSON takes, and what it can be cut down to. */
interface Part {
  value: unknown;
  size: number;
  least: number;
  /** Order of removal: short facts, then texts, then nested values. */
  rank: 0 | 1 | 2;
  items?: readonly Part[];
  fields?: readonly Field[];
}

/** A member of an object; `cost` is what its name and a colon take. */
interface Field extends Part {
  name: string;
  cost: number;
}

/** The JSON text of a value in at most `budget` bytes of UTF-8, of which there are 4 or more. */
export const clipped = (value: unknown, budget: number): string => JSON.stringify(fit(measured(value, LEVELS), budget));

function measured(value: unknown, levels: number): Part {
  if (typeof value === "string") return text(value);
  if (typeof value === "number" || typeof value === "boolean") return fact(value);
  if (typeof value !== "object" || value === null) return fact(null);
  if (levels === 0) return fact("(deeper levels left out)");
  if (Array.isArray(value)) {
    const items = value.map((item) => asRecord(measured(item, levels - 1)));
    return nested({ items, size: around(items), value: items.map((item) => item.value) });
  }
  const fields = Object.entries(value).flatMap(([name, member]): Field[] =>
    member === undefined ? [] : [{ ...measured(member, levels - 1), name, cost: bytesOf(name) + 1 }],
  );
  return nested({ fields, size: around(fields), value: objectOf(fields) });
}

/** Brackets and commas too. */
const around = (parts: readonly (Part | Field)[]): number =>
  2 + Math.max(0, parts.length - 1) + sum(parts, (part) => part.size + ("cost" in part ? part.cost : 0));

const fact = (value: unknown): Part => {
  const size = bytesOf(value);
  return { value, size, least: size, rank: 0 };
};

function text(value: string): Part {
  if (value.length <= SHORT) return fact(value);
  const size = bytesOf(value);
  return { value, size, least: Math.min(size, LEAST.text), rank: 1 };
}

const nested = (part: Pick<Part, "value" | "size" | "items" | "fields">): Part => ({
  ...part,
  least: Math.min(part.size, LEAST.nested),
  rank: 2,
});

/** One of many: it is of no use without its short facts. */
function asRecord(part: Part): Part {
  if (!part.fields) return part;
  const least = 2 + sum(part.fields, (field) => field.cost + field.least + 1);
  return { ...part, least: Math.min(part.size, least, LEAST.record) };
}

function fit(part: Part, budget: number): unknown {
  if (part.size <= budget) return part.value;
  if (part.items) return fitItems(part.items, budget);
  if (part.fields) return fitFields(part.fields, budget);
  return part.rank === 0 ? marked("(left out)", budget) : cut(part.value as string, budget);
}

/** The first of them, then how many more there are. */
function fitItems(items: readonly Part[], budget: number): unknown {
  const kept = taken(items, budget - 2 - MARK, (item) => item.least + 1, true);
  if (kept.length === 0) return marked(`(${items.length} items left out)`, budget);
  const shown = shared(kept, budget - 2 - MARK - kept.length);
  return kept.length === items.length ? shown : [...shown, `(${items.length - kept.length} more left out)`];
}

/** Keeps fields of the lowest rank first, in the order they came in; then how many more there are. */
function fitFields(fields: readonly Field[], budget: number): unknown {
  const ranked = [...fields].sort((a, b) => a.rank - b.rank);
  const chosen = new Set(taken(ranked, budget - 2 - MARK, (field) => field.least + field.cost + 1));
  if (chosen.size === 0) return marked(`(${fields.length} fields left out)`, budget);
  const kept = fields.filter((field) => chosen.has(field));
  const values = shared(kept, budget - 2 - MARK - sum(kept, ({ cost }) => cost + 1));
  const shown = kept.map(({ name }, index) => ({ name, value: values[index] }));
  const gone = fields.length - kept.length;
  return objectOf(gone === 0 ? shown : [...shown, { name: "…", value: `${gone} more fields left out` }]);
}

/** Returns the parts that fit; with `inRow` it ends at the first that does not, so that no later part takes its place. */
function taken<P extends Part>(parts: readonly P[], room: number, costOf: (part: P) => number, inRow = false): P[] {
  let left = room;
  const kept: P[] = [];
  for (const part of parts) {
    const cost = costOf(part);
    if (cost > left && inRow) break;
    if (cost > left) continue;
    left -= cost;
    kept.push(part);
  }
  return kept;
}

/** Each whole up to the highest cap that leaves room for the least of all others. */
function shared(parts: readonly Part[], room: number): unknown[] {
  const under = (cap: number) => (part: Part) => Math.min(part.size, Math.max(cap, part.least));
  let [fits, tooHigh] = [0, room + 1];
  while (tooHigh - fits > 1) {
    const cap = Math.floor((fits + tooHigh) / 2);
    if (sum(parts, under(cap)) <= room) fits = cap;
    else tooHigh = cap;
  }
  const share = under(fits);
  return parts.map((part) => fit(part, share(part)));
}

/** The beginning of a text, up to a word that would be cut: half an id names nothing, or something else. */
function cut(whole: string, budget: number): unknown {
  let [end, room] = [0, budget - 2 - MARK];
  for (const char of whole) {
    room -= bytesIn(char.codePointAt(0)!);
    if (room < 0) break;
    end += char.length;
  }
  const word = /[\w-]*$/.exec(whole.slice(Math.max(0, end - SHORT), end))![0];
  if (word.length < SHORT && /[\w-]/.test(whole[end] ?? "")) end -= word.length;
  const gone = whole.length - end;
  return end <= 0
    ? marked(`(${gone} characters left out)`, budget)
    : `${whole.slice(0, end)}… (${gone} more characters left out)`;
}

const marked = (mark: string, budget: number): string | null => (bytesOf(mark) <= budget ? mark : null);

/** Not by assignment: a member may be called `__proto__`. */
const objectOf = (members: readonly { name: string; value: unknown }[]): object =>
  Object.fromEntries(members.map(({ name, value }) => [name, value]));

/** Size of a value that is not nested, as JSON, in bytes of UTF-8. */
function bytesOf(value: unknown): number {
  if (typeof value !== "string") return JSON.stringify(value).length;
  let bytes = 2;
  for (let at = 0; at < value.length; at++) {
    const code = value.codePointAt(at)!;
    bytes += bytesIn(code);
    if (code > 0xffff) at++;
  }
  return bytes;
}

/** As `JSON.stringify` writes it: the letters after the backslash, else four digits, also for half a pair. */
function bytesIn(code: number): number {
  if (code < 0x20) return code > 7 && code < 14 && code !== 11 ? 2 : 6;
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1;
  if (code < 0x800) return 2;
  if (code > 0xffff) return 4;
  return code > 0xd7ff && code < 0xe000 ? 6 : 3;
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
