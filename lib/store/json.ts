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
    return (this.#value ??= freezeDeep(JSON.parse(this.text) as T));
  }
}

/**
 * A value with its text, for what is stored and answered too. The value is frozen, with all in it. Errors: `TypeError` for
 * what JSON would drop or turn into something else (a function, a bigint, NaN, a Date, an `undefined` in an array) and for a
 * cycle; the place is named, in the value of this name. A member that is `undefined` is left out.
 */
export function json<T>(value: T, name = "value"): Json<T> {
  const walk: Walk = { freeze: true, exact: true };
  rejectFlaw(name, visit(value, walk, 0));
  return new Json(JSON.stringify(value), walk.exact ? value : undefined);
}

/** As `json` for a value that stays its owner's, named in errors; one that was made already is taken as it is. */
export function toJson(value: unknown, name: string): Json {
  if (value instanceof Json) return value;
  rejectFlaw(name, visit(value, { freeze: false, exact: true }, 0));
  return new Json(JSON.stringify(value));
}

/** Freezes a JSON value with all in it. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) if (typeof member === "object") freezeDeep(member);
  return Object.freeze(value);
}

const DEEPEST = 200;

interface Walk {
  readonly freeze: boolean;
  /** True if the text parses to exactly the value. */
  exact: boolean;
}

/** Why a value cannot be stored, and where that lies in it: the innermost step last. */
interface Flaw {
  readonly reason: string;
  readonly path: (string | number)[];
}

const flaw = (reason: string): Flaw => ({ reason, path: [] });

function rejectFlaw(name: string, found: Flaw | undefined): void {
  if (!found) return;
  const place = found.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  throw new TypeError(`${name}${place} cannot be stored: ${found.reason}`);
}

/** Looks for what the text would not read back as; the path is made when something is found. */
function visit(value: unknown, walk: Walk, depth: number): Flaw | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      if (Object.is(value, -0)) walk.exact = false;
      return Number.isFinite(value) ? undefined : flaw(`${value} is not a JSON number`);
    case "object":
      return value === null ? undefined : visitMembers(value, walk, depth);
    default:
      return flaw(`${typeof value} is not a JSON type`);
  }
}

function visitMembers(value: object, walk: Walk, depth: number): Flaw | undefined {
  if (depth === DEEPEST) return flaw(`it is nested deeper than ${DEEPEST} levels, or contains itself`);
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value, walk))
    return flaw(`a ${value.constructor?.name ?? "class instance"} is not plain data`);
  const names = isList ? undefined : Object.keys(value);
  for (let index = 0, { length } = names ?? (value as unknown[]); index < length; index++) {
    const step = names ? names[index]! : index;
    const member = (value as Record<string | number, unknown>)[step];
    if (member === undefined && names) {
      walk.exact = false;
      continue;
    }
    const found = visit(member, walk, depth + 1);
    if (!found) continue;
    found.path.unshift(step);
    return found;
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
