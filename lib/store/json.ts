/** Conversion of values to JSON text for stores, and back to deeply frozen values that all callers share. */

/** JSON text with its value, which is parsed at most once. The value is deeply frozen. */
export class Json<T = unknown> {
  readonly text: string;
  #value: T | undefined;

  /** `value`: deeply frozen, and equal to the parsed text; without it the text is parsed at the first access. */
  constructor(text: string, value?: T) {
    this.text = text;
    this.#value = value;
  }

  get value(): T {
    return (this.#value ??= freezeDeep(JSON.parse(this.text) as T));
  }
}

/**
 * Converts a value to `Json` and freezes it deeply. Errors: `TypeError` for a value that JSON would drop or change (a function,
 * a bigint, NaN, a Date, an `undefined` in an array) and for a cycle. `name` names the value in the error, which adds the path.
 * A member that is `undefined` is left out.
 */
export function json<T>(value: T, name = "value"): Json<T> {
  const walk: Walk = { freeze: true, exact: true };
  rejectFlaw(name, findFlaw(value, walk, 0));
  return new Json(JSON.stringify(value), walk.exact ? value : undefined);
}

/** Converts a value like `json` but does not freeze it, since the caller may still change it; returns a `Json` unchanged. */
export function toJson(value: unknown, name: string): Json {
  if (value instanceof Json) return value;
  rejectFlaw(name, findFlaw(value, { freeze: false, exact: true }, 0));
  return new Json(JSON.stringify(value));
}

/** Freezes a JSON value deeply. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) if (typeof member === "object") freezeDeep(member);
  return Object.freeze(value);
}

const MAX_DEPTH = 200;

interface Walk {
  readonly freeze: boolean;
  /** True if the text parses to exactly the value. */
  exact: boolean;
}

/** Reason why a value cannot be stored, and the path to the offending member, outermost step first. */
interface Flaw {
  readonly reason: string;
  readonly path: (string | number)[];
}

const createFlaw = (reason: string): Flaw => ({ reason, path: [] });

function rejectFlaw(name: string, found: Flaw | undefined): void {
  if (!found) return;
  const path = found.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  throw new TypeError(`${name}${path} cannot be stored: ${found.reason}`);
}

/** Finds the first part of a value that JSON cannot represent. */
function findFlaw(value: unknown, walk: Walk, depth: number): Flaw | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      if (Object.is(value, -0)) walk.exact = false;
      return Number.isFinite(value) ? undefined : createFlaw(`${value} is not a JSON number`);
    case "object":
      return value === null ? undefined : findFlawInMembers(value, walk, depth);
    default:
      return createFlaw(`${typeof value} is not a JSON type`);
  }
}

function findFlawInMembers(value: object, walk: Walk, depth: number): Flaw | undefined {
  if (depth === MAX_DEPTH) return createFlaw(`it is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
  const isList = Array.isArray(value);
  if (!isList && !isPlainObject(value, walk))
    return createFlaw(`a ${value.constructor?.name ?? "class instance"} is not plain data`);
  const names = isList ? undefined : Object.keys(value);
  for (let index = 0, { length } = names ?? (value as unknown[]); index < length; index++) {
    const step = names ? names[index]! : index;
    const member = (value as Record<string | number, unknown>)[step];
    if (member === undefined && names) {
      walk.exact = false;
      continue;
    }
    const found = findFlaw(member, walk, depth + 1);
    if (!found) continue;
    found.path.unshift(step);
    return found;
  }
  if (walk.freeze) Object.freeze(value);
  return undefined;
}

/** Returns true for an object made by a literal or `JSON.parse`, also in another realm. */
function isPlainObject(value: object, walk: Walk): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) walk.exact = false;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
