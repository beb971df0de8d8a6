/** Accesses members of JSON objects safely: other programs' files may have members named `__proto__` or `constructor`. */

/** A JSON object whose members were not checked yet. */
export type JsonObject = Record<string, unknown>;

/** Checks that a JSON value is an object, neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the object's own member, never an inherited one; `undefined` where it has none. */
export const getOwn = <T>(object: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Sets the object's own member; an assignment would run the setter behind `__proto__`. */
export function setOwn<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
