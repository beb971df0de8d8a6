import serialize from "canonicalize";

/** RFC 8785 canonical JSON of a JSON value; members that are `undefined` are left out. */
export function canonicalJson(value: unknown): string {
  const text = serialize(value);
  if (text === undefined) throw new TypeError("canonical JSON needs a JSON value");
  return text;
}
