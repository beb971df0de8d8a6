import serialize from "canonicalize";

/** Returns the canonical JSON (RFC 8785) of a JSON value, without members that are `undefined`. Errors: `TypeError` for no JSON. */
export function canonicalJson(value: unknown): string {
  const text = serialize(value);
  if (text === undefined) throw new TypeError("canonical JSON needs a JSON value");
  return text;
}
