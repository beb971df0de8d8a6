/** Values as JSON: what a store keeps is text; what it hands out is frozen, so that all its readers share one. */

/** JSON text with the value that it stands for, each made once. The value is frozen, with all in it. */
export class Json<T = unknown> {
  readonly text: string;
  #value: T | undefined;

  /** `value`: frozen, and exactly what the text reads as; without it the text is read when someone asks. */
  constructor(text: string, value?: T) {
    this.text = text;
    this.#value = value;
  }

  get value(): T {
    return (this.#value ??= frozen(JSON.parse(this.text) as T));
  }
}

/**
 * A value with its text, for what is stored and answered too. The value is frozen, with all in it. Errors: `TypeError` for
 * what JSON would drop or turn into something else (a function, a bigint, NaN, a Date, an `undefined` in an array) and for a
 * cycle; the place is named. A member that is `undefined` is left out.
 */
export function json<T>(value: T): Json<T> {
  const exact = check(value, "value", true);
  return new Json(JSON.stringify(value), exact ? value : undefined);
}

/** As `json` for a value that stays its owner's, named in errors; one that was made already is taken as it is. */
export function jsonOf(value: unknown, name: string): Json {
  if (value instanceof Json) return value;
  check(value, name, false);
  return new Json(JSON.stringify(value));
}

/** Freezes a JSON value with all in it. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) if (typeof member === "object") frozen(member);
  return Object.freeze(value);
}

const DEEPEST = 200;

interface Walk {
  readonly freeze: boolean;
  /** Whether the text reads back as the very value. */
  exact: boolean;
}

interface Flaw {
  path: string;
  reason: string;
}

/** Whether the text of a value reads back as just that value. */
function check(value: unknown, name: string, freeze: boolean): boolean {
  const walk = { freeze, exact: true };
  const flaw = flawOf(value, 0, walk);
  if (flaw) throw new TypeError(`${name}${flaw.path} cannot be stored: ${flaw.reason}`);
  return walk.exact;
}

function flawOf(value: unknown, depth: number, walk: Walk): Flaw | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      if (Object.is(value, -0)) walk.exact = false;
      return Number.isFinite(value) ? undefined : { path: "", reason: `${value} is not a JSON number` };
    case "object":
      return value === null ? undefined : flawWithin(value, depth, walk);
    default:
      return { path: "", reason: `${typeof value} is not a JSON type` };
  }
}

function flawWithin(value: object, depth: number, walk: Walk): Flaw | undefined {
  if (depth === DEEPEST) return { path: "", reason: `it is nested deeper than ${DEEPEST} levels, or contains itself` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const flaw = flawOf(value[index], depth + 1, walk);
      if (flaw) return { ...flaw, path: `[${index}]${flaw.path}` };
    }
  } else {
    if (!isPlain(value, walk))
      return { path: "", reason: `a ${value.constructor?.name ?? "class instance"} is not plain data` };
    const members = value as Record<string, unknown>;
    for (const key of Object.keys(members)) {
      const member = members[key];
      const flaw = member === undefined ? undefined : flawOf(member, depth + 1, walk);
      if (member === undefined) walk.exact = false;
      if (flaw) return { ...flaw, path: `.${key}${flaw.path}` };
    }
  }
  if (walk.freeze) Object.freeze(value);
  return undefined;
}

/** Made by a literal or `JSON.parse`, also in another realm. */
function isPlain(value: object, walk: Walk): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) walk.exact = false;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
