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
  const walk: Walk = { name: "value", path: [], freeze: true, exact: true };
  visit(value, walk);
  return new Json(JSON.stringify(value), walk.exact ? value : undefined);
}

/** As `json` for a value that stays its owner's, named in errors; one that was made already is taken as it is. */
export function jsonOf(value: unknown, name: string): Json {
  if (value instanceof Json) return value;
  visit(value, { name, path: [], freeze: false, exact: true });
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
  readonly name: string;
  readonly path: (string | number)[];
  readonly freeze: boolean;
  /** Whether the text reads back as the very value. */
  exact: boolean;
}

function refuse({ name, path }: Walk, reason: string): never {
  const place = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  throw new TypeError(`${name}${place} cannot be stored: ${reason}`);
}

/** Refuses what the text would not read back as. */
function visit(value: unknown, walk: Walk): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (Object.is(value, -0)) walk.exact = false;
      return Number.isFinite(value) ? undefined : refuse(walk, `${value} is not a JSON number`);
    case "object":
      return value === null ? undefined : visitMembers(value, walk);
    default:
      refuse(walk, `${typeof value} is not a JSON type`);
  }
}

function visitMembers(value: object, walk: Walk): void {
  if (walk.path.length === DEEPEST) refuse(walk, `it is nested deeper than ${DEEPEST} levels, or contains itself`);
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value, walk))
    refuse(walk, `a ${value.constructor?.name ?? "class instance"} is not plain data`);
  for (const step of isList ? value.keys() : Object.keys(value)) {
    const member = (value as Record<string | number, unknown>)[step];
    if (member === undefined && !isList) {
      walk.exact = false;
      continue;
    }
    walk.path.push(step);
    visit(member, walk);
    walk.path.pop();
  }
  if (walk.freeze) Object.freeze(value);
}

/** Made by a literal or `JSON.parse`, also in another realm. */
function isPlain(value: object, walk: Walk): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) walk.exact = false;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
