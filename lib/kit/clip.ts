/**
 * Shortens a value until its JSON fits into a number of bytes. The longest parts are cut first, with a marker in their place;
 * short values such as ids are never cut, only left out. The result is always valid JSON.
 */

/** Texts of up to this many characters are never cut: ids, digests, times, most names. */
const MAX_UNCUT_LENGTH = 80;
/** Minimum size of a part by its type, in bytes, as long as there is room for all parts. */
const MIN_PART_BYTES = { text: 240, nested: 96, record: 1500 };
/** Maximum size of a marker that says how much is left out, in bytes. */
const MARKER_BYTES = 56;
/** Maximum depth; only the value of a change can be deeper. */
const MAX_DEPTH = 12;

/** A value with the size of its JSON and the minimum it can be cut to, in bytes. */
interface Part {
  value: unknown;
  size: number;
  minSize: number;
  /** Order in which fields are kept: short facts first, then texts, then nested values. */
  rank: 0 | 1 | 2;
  items?: readonly Part[];
  fields?: readonly Field[];
}

/** A member of an object; `cost` is the size of its name and colon, in bytes. */
interface Field extends Part {
  name: string;
  cost: number;
}

/** Returns the JSON text of a value in at most `budget` bytes of UTF-8; `budget` is 4 or more. */
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

/** Returns the size of a list or object of these parts, with brackets and commas. */
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

/** Raises the minimum of an item of a list so that its short members remain: without them the item is of no use. */
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

/** Keeps the first items, and adds the number of the others. */
function fitItems(items: readonly Part[], budget: number): unknown {
  const selected = selectParts(items, budget - 2 - MARKER_BYTES, (item) => item.minSize + 1, true);
  if (selected.length === 0) return fitMarker(`(${items.length} items left out)`, budget);
  const clipped = shareRoom(selected, budget - 2 - MARKER_BYTES - selected.length);
  return selected.length === items.length ? clipped : [...clipped, `(${items.length - selected.length} more left out)`];
}

/** Keeps the fields of the lowest rank, in their original order, and adds the number of the others. */
function fitFields(fields: readonly Field[], budget: number): unknown {
  const ranked = [...fields].sort((a, b) => a.rank - b.rank);
  const chosen = new Set(selectParts(ranked, budget - 2 - MARKER_BYTES, (field) => field.minSize + field.cost + 1));
  if (chosen.size === 0) return fitMarker(`(${fields.length} fields left out)`, budget);
  const selected = fields.filter((field) => chosen.has(field));
  const values = shareRoom(selected, budget - 2 - MARKER_BYTES - sum(selected, ({ cost }) => cost + 1));
  const clipped = selected.map(({ name }, index) => ({ name, value: values[index] }));
  const omitted = fields.length - selected.length;
  return buildObject(omitted === 0 ? clipped : [...clipped, { name: "…", value: `${omitted} more fields left out` }]);
}

/** Returns the parts that fit into the room. `stopsAtFirst`: ends at the first part that does not fit, instead of skipping it. */
function selectParts<P extends Part>(
  parts: readonly P[],
  room: number,
  costOf: (part: P) => number,
  stopsAtFirst = false,
): P[] {
  let remaining = room;
  const selected: P[] = [];
  for (const part of parts) {
    const cost = costOf(part);
    if (cost > remaining && stopsAtFirst) break;
    if (cost > remaining) continue;
    remaining -= cost;
    selected.push(part);
  }
  return selected;
}

/** Cuts parts to a common cap: the highest at which all of them fit into the room. A part below the cap is not cut. */
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

/** Cuts a text before a word that would not fit completely: half an id could name something else. */
function cutText(full: string, budget: number): unknown {
  let [end, room] = [0, budget - 2 - MARKER_BYTES];
  for (const char of full) {
    room -= characterSize(char.codePointAt(0)!);
    if (room < 0) break;
    end += char.length;
  }
  const word = /[\w-]*$/.exec(full.slice(Math.max(0, end - MAX_UNCUT_LENGTH), end))![0];
  // A word of this length is no id, and may be cut.
  if (word.length < MAX_UNCUT_LENGTH && /[\w-]/.test(full[end] ?? "")) end -= word.length;
  const omitted = full.length - end;
  return end <= 0
    ? fitMarker(`(${omitted} characters left out)`, budget)
    : `${full.slice(0, end)}… (${omitted} more characters left out)`;
}

const fitMarker = (marker: string, budget: number): string | null => (jsonSize(marker) <= budget ? marker : null);

/** Builds an object without assignments, since a member may be called `__proto__`. */
const buildObject = (members: readonly { name: string; value: unknown }[]): object =>
  Object.fromEntries(members.map(({ name, value }) => [name, value]));

/** Returns the size of the JSON of a text, number, boolean or null, in bytes of UTF-8. */
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

/** Returns the size of a character in JSON: with its escape (`\n`, or `\u` and four digits, also for a lone surrogate). */
function characterSize(code: number): number {
  if (code < 0x20) return code > 7 && code < 14 && code !== 11 ? 2 : 6;
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1;
  if (code < 0x800) return 2;
  if (code > 0xffff) return 4;
  return code > 0xd7ff && code < 0xe000 ? 6 : 3;
}

const sum = <T>(items: readonly T[], measureItem: (item: T) => number): number =>
  items.reduce((total, item) => total + measureItem(item), 0);
