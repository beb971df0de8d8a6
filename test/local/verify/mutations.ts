/** Changes to JSON values and to text that parsers may read differently. */

/** Returns a random number below a bound. */
export type Below = (bound: number) => number;

export const pick = <T>(below: Below, all: readonly T[]): T => all[below(all.length)]!;

/** Begins a placeholder string, which `bentJson` replaces by its text. That text need not be valid JSON. */
const RAW = "@@raw:";
const raw = (text: string) => `${RAW}${text}@@`;

const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

/** JSON values, and texts that resemble them, which parsers may read differently. */
export const ODD_JSON: readonly string[] = [
  ...["1e400", "-0", "2.0", '"\\ud800"', '{"a":1,"a":2}', "NaN", "01", "1E0", "9007199254740993"],
  ...["12345678901234567890", "1".repeat(5000), '"\\u0061na"'],
  ...[60, 98, 101, 150, 20_000].map(deep),
];

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, 2, -1, 1.5, "", "x", "1", "approved", "denied", "constructor", "__proto__", "toString"],
  ...[
    "pending_consent",
    "urgent",
    "minor",
    "major",
    "ana",
    "ANA ",
    "\ufeffana",
    "\u0085ana",
    "a\u001cna",
    "policy:minor",
  ],
  ...[[], {}, ["approved"], [["approved"]], { a: 1 }, 2 ** 53, 1e21, [null], "agent:x", "llm:x"],
  ...ODD_JSON.map(raw),
];

/** Lists the paths in a value at which something can be changed. */
function listPaths(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    return [at, ...listPaths(member, at)];
  });
}

/** Matches a placeholder in a JSON text; a truncated one remains a string. */
const PLACEHOLDER = /"@@raw:((?:[^"\\]|\\.)*?)@@"/g;

type Holder = Record<string, unknown>;

/** Returns the JSON text of a value with one to three members changed, removed, put into a list, or copied to another name. */
export function bentJson(value: unknown, below: Below): string {
  const copy = structuredClone(value) as Holder;
  for (let count = 1 + below(3); count > 0; count--) {
    const all = listPaths(copy);
    if (all.length === 0) break;
    const path = pick(below, all);
    const holder = path.slice(0, -1).reduce<Holder>((one, name) => one[name] as Holder, copy);
    // A path through a member named __proto__ leads nowhere.
    if (typeof holder !== "object" || holder === null) continue;
    const name = path.at(-1)!;
    const how = below(12);
    if (how === 0) delete holder[name];
    else if (how === 1)
      holder[pick(below, ["constructor", "kind", "status", "from", "emergency", "x"])] = structuredClone(holder[name]);
    else if (how === 2) holder[name] = [holder[name]];
    else if (how === 3 && typeof holder[name] === "string") holder[name] = bentText(holder[name], below);
    // A copy, since a later change may edit it: VALUES stay as they are, and nothing contains itself.
    else holder[name] = structuredClone(pick(below, VALUES));
  }
  return JSON.stringify(copy).replace(PLACEHOLDER, (_, text: string) => JSON.parse(`"${text}"`) as string);
}

/** Characters that some languages take for white space, line ends or part of a number. */
const INSERTED = [
  "\ufeff",
  "\u0085",
  "\u001c",
  "\u00a0",
  "\u2028",
  "\r",
  "\r\n",
  "\n",
  "\n\n",
  "\t",
  " ",
  "+",
  "\0",
  "\u007f",
];
const MORE = ["é", "\u3000", "\u202e", "— ", "=", "0", "\\", '"', "}", "\u001b[2K", "x".repeat(40)];

/** Returns text with a part inserted, removed or repeated, or with other line ends. */
export function bentText(text: string, below: Below): string {
  const at = below(text.length + 1);
  const end = Math.min(text.length, at + 1 + below(12));
  switch (below(6)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, end) + text.slice(at, end) + text.slice(end);
    case 2:
      return `${pick(below, INSERTED)}${text}`;
    case 3:
      return `${text}${pick(below, INSERTED)}`;
    case 4:
      return text.replaceAll("\n", "\r\n");
    default:
      return text.slice(0, at) + pick(below, [...INSERTED, ...MORE]) + text.slice(at);
  }
}

/** Returns bytes with some flipped, removed, inserted, repeated or truncated. */
export function bentBytes(bytes: Buffer, below: Below): Buffer {
  const at = below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + below(40));
  switch (below(6)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), Buffer.of(below(256)), bytes.subarray(at)]);
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(pick(below, [...INSERTED, ...MORE])),
        bytes.subarray(at),
      ]);
    default: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[below(copy.length)]! ^= 1 << below(8);
      return copy;
    }
  }
}

/** Returns a DER signature in another notation of the same numbers, sometimes with a byte after it. */
export function bentDer(der: Buffer, below: Below): Buffer {
  // In DER, two bytes precede the sequence, `r` and `s` each: a tag and the length.
  const r = der.subarray(4, 4 + der[3]!);
  const s = der.subarray(6 + r.length);
  const encodeNumber = (bytes: Buffer, padding: number) =>
    Buffer.concat([Buffer.of(2, bytes.length + padding), Buffer.alloc(padding), bytes]);
  const body = Buffer.concat([encodeNumber(r, below(2)), encodeNumber(s, below(2))]);
  const head = below(2) === 0 ? Buffer.of(0x30, body.length) : Buffer.of(0x30, 0x81, body.length);
  return Buffer.concat([head, body, Buffer.alloc(below(4) === 0 ? 1 : 0)]);
}
