/** Names in a file are text of other programs: `__proto__` and `constructor` must be members like any other. */

/** A JSON object whose members were not checked yet. */
export type JsonObject = Record<string, unknown>;

/** Returns whether a JSON value is an object, neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the object's own member, never an inherited one; `undefined` where it has none. */
export const own = <T>(object: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Sets the object's own member; an assignment would run the setter behind `__proto__`. */
export function put<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
