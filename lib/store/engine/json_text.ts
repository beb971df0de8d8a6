/** Values are kept as JSON text: what is read back is the reader's own, and exactly what was put. */

const DEEPEST = 200;

/**
 * The JSON text of a value. Refused, with the place named: what JSON would drop or turn into something else (a function,
 * a bigint, NaN, a Date, an `undefined` in an array), and a cycle. A member that is `undefined` is left out.
 */
export function jsonText(value: unknown, name: string): string {
  const flaw = flawOf(value, 0);
  if (flaw) throw new TypeError(`${name}${flaw.path} cannot be stored: ${flaw.reason}`);
  return JSON.stringify(value);
}

interface Flaw {
  path: string;
  reason: string;
}

function flawOf(value: unknown, depth: number): Flaw | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { path: "", reason: `${value} is not a JSON number` };
    case "object":
      return value === null ? undefined : flawWithin(value, depth);
    default:
      return { path: "", reason: `${typeof value} is not a JSON type` };
  }
}

function flawWithin(value: object, depth: number): Flaw | undefined {
  if (depth === DEEPEST) return { path: "", reason: `it is nested deeper than ${DEEPEST} levels, or contains itself` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const flaw = flawOf(value[index], depth + 1);
      if (flaw) return { ...flaw, path: `[${index}]${flaw.path}` };
    }
    return undefined;
  }
  if (!isPlain(value))
    return { path: "", reason: `a ${value.constructor?.name ?? "class instance"} is not plain data` };
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) {
    if (members[key] === undefined) continue;
    const flaw = flawOf(members[key], depth + 1);
    if (flaw) return { ...flaw, path: `.${key}${flaw.path}` };
  }
  return undefined;
}

/** Made by a literal or `JSON.parse`, also in another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
