/**
 * JSON within a number of bytes. What is too much is cut where it lies, and marked: the longest parts give way first, short
 * facts such as ids are whole or absent, and what comes out is JSON whatever went in.
 */

/** Texts of so many characters are never cut: ids, digests, times, most names. */
const MAX_UNCUT_LENGTH = 80;
/** Minimum size of each part, in bytes, as long as there is room for all of them. */
const MIN_PART_BYTES = { text: 240, nested: 96, record: 1500 };
/** Room for a mark that says how much is left out; none is longer. */
const MARKER_BYTES = 56;
/** Deeper than any record of ours, of a change its value apart. */
const MAX_DEPTH = 12;

/** A value with what its JSON takes, and what it can be cut down to. */
interface Part {
  value: unknown;
  size: number;
  minSize: number;
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
export const clipJson = (value: unknown, budget: number): string =>
  JSON.stringify(fit(measure(value, MAX_DEPTH), budget));

function measure(value: unknown, levels: number): Part {
  if (typeof value === "string") return textPart(value);
  if (typeof value === "number" || typeof value === "boolean") return factPart(value);
  if (typeof value !== "object" || value === null) return factPart(null);
  if (levels === 0) return factPart("(deeper levels left out)");
  if (Array.isArray(value)) {
    const items = value.map((item) => raiseMinimum(measure(item, levels - 1)));
    return nestedPart({ items, size: containerSize(items), value: items.map((item) => item.value) });
  }
  const fields = Object.entries(value).flatMap(([name, member]): Field[] =>
    member === undefined ? [] : [{ ...measure(member, levels - 1), name, cost: jsonSize(name) + 1 }],
  );
  return nestedPart({ fields, size: containerSize(fields), value: buildObject(fields) });
}

/** Brackets and commas too. */
const containerSize = (parts: readonly (Part | Field)[]): number =>
  2 + Math.max(0, parts.length - 1) + sum(parts, (part) => part.size + ("cost" in part ? part.cost : 0));

const factPart = (value: unknown): Part => {
  const size = jsonSize(value);
  return { value, size, minSize: size, rank: 0 };
};

function textPart(value: string): Part {
  if (value.length <= MAX_UNCUT_LENGTH) return factPart(value);
  const size = jsonSize(value);
  return { value, size, minSize: Math.min(size, MIN_PART_BYTES.text), rank: 1 };
}

const nestedPart = (part: Pick<Part, "value" | "size" | "items" | "fields">): Part => ({
  ...part,
  minSize: Math.min(part.size, MIN_PART_BYTES.nested),
  rank: 2,
});

/** One of many: it is of no use without its short facts. */
function raiseMinimum(part: Part): Part {
  if (!part.fields) return part;
  const minSize = 2 + sum(part.fields, (field) => field.cost + field.minSize + 1);
  return { ...part, minSize: Math.min(part.size, minSize, MIN_PART_BYTES.record) };
}

function fit(part: Part, budget: number): unknown {
  if (part.size <= budget) return part.value;
  if (part.items) return fitItems(part.items, budget);
  if (part.fields) return fitFields(part.fields, budget);
  return part.rank === 0 ? fitMarker("(left out)", budget) : cutText(part.value as string, budget);
}

/** The first of them, then how many more there are. */
function fitItems(items: readonly Part[], budget: number): unknown {
  const selected = selectParts(items, budget - 2 - MARKER_BYTES, (item) => item.minSize + 1, true);
  if (selected.length === 0) return fitMarker(`(${items.length} items left out)`, budget);
  const shown = shareRoom(selected, budget - 2 - MARKER_BYTES - selected.length);
  return selected.length === items.length ? shown : [...shown, `(${items.length - selected.length} more left out)`];
}

/** Keeps fields of the lowest rank first, in the order they came in; then how many more there are. */
function fitFields(fields: readonly Field[], budget: number): unknown {
  const ranked = [...fields].sort((a, b) => a.rank - b.rank);
  const chosen = new Set(selectParts(ranked, budget - 2 - MARKER_BYTES, (field) => field.minSize + field.cost + 1));
  if (chosen.size === 0) return fitMarker(`(${fields.length} fields left out)`, budget);
  const selected = fields.filter((field) => chosen.has(field));
  const values = shareRoom(selected, budget - 2 - MARKER_BYTES - sum(selected, ({ cost }) => cost + 1));
  const shown = selected.map(({ name }, index) => ({ name, value: values[index] }));
  const omitted = fields.length - selected.length;
  return buildObject(omitted === 0 ? shown : [...shown, { name: "…", value: `${omitted} more fields left out` }]);
}

/** Returns the parts that fit; with `stopsAtFirst` it ends at the first that does not, so that no later part takes its place. */
function selectParts<P extends Part>(
  parts: readonly P[],
  room: number,
  costOf: (part: P) => number,
  stopsAtFirst = false,
): P[] {
  let left = room;
  const selected: P[] = [];
  for (const part of parts) {
    const cost = costOf(part);
    if (cost > left && stopsAtFirst) break;
    if (cost > left) continue;
    left -= cost;
    selected.push(part);
  }
  return selected;
}

/** Each whole up to the highest cap that leaves room for the least of all others. */
function shareRoom(parts: readonly Part[], room: number): unknown[] {
  const sizeUnder = (cap: number) => (part: Part) => Math.min(part.size, Math.max(cap, part.minSize));
  let [fits, tooHigh] = [0, room + 1];
  while (tooHigh - fits > 1) {
    const cap = Math.floor((fits + tooHigh) / 2);
    if (sum(parts, sizeUnder(cap)) <= room) fits = cap;
    else tooHigh = cap;
  }
  const share = sizeUnder(fits);
  return parts.map((part) => fit(part, share(part)));
}

/** The beginning of a text, up to a word that would be cut: half an id names nothing, or something else. */
function cutText(full: string, budget: number): unknown {
  let [end, room] = [0, budget - 2 - MARKER_BYTES];
  for (const char of full) {
    room -= characterSize(char.codePointAt(0)!);
    if (room < 0) break;
    end += char.length;
  }
  const word = /[\w-]*$/.exec(full.slice(Math.max(0, end - MAX_UNCUT_LENGTH), end))![0];
  if (word.length < MAX_UNCUT_LENGTH && /[\w-]/.test(full[end] ?? "")) end -= word.length;
  const omitted = full.length - end;
  return end <= 0
    ? fitMarker(`(${omitted} characters left out)`, budget)
    : `${full.slice(0, end)}… (${omitted} more characters left out)`;
}

const fitMarker = (marker: string, budget: number): string | null => (jsonSize(marker) <= budget ? marker : null);

/** Not by assignment: a member may be called `__proto__`. */
const buildObject = (members: readonly { name: string; value: unknown }[]): object =>
  Object.fromEntries(members.map(({ name, value }) => [name, value]));

/** Size of a value that is not nested, as JSON, in bytes of UTF-8. */
function jsonSize(value: unknown): number {
  if (typeof value !== "string") return JSON.stringify(value).length;
  let bytes = 2;
  for (let at = 0; at < value.length; at++) {
    const code = value.codePointAt(at)!;
    bytes += characterSize(code);
    if (code > 0xffff) at++;
  }
  return bytes;
}

/** As `JSON.stringify` writes it: the letters after the backslash, else four digits, also for half a pair. */
function characterSize(code: number): number {
  if (code < 0x20) return code > 7 && code < 14 && code !== 11 ? 2 : 6;
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1;
  if (code < 0x800) return 2;
  if (code > 0xffff) return 4;
  return code > 0xd7ff && code < 0xe000 ? 6 : 3;
}

const sum = <T>(items: readonly T[], measureItem: (item: T) => number): number =>
  items.reduce((total, item) => total + measureItem(item), 0);
