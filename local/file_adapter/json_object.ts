/** Names in the file are other people's text: `__proto__` and `constructor` must be members like any other. */

/** A JSON object whose members were not checked yet. */
export type JsonObject = Record<string, unknown>;

/** Whether a JSON value is an object, neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object's own member, `undefined` when it has none: never something inherited. */
export const own = <T>(object: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Sets the object's own member; assignment would run the setter behind `__proto__`. */
export function put<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Whether a JSON value nests lists and objects more than `limit` deep. */
export function deeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((member) => deeperThan(member, limit - 1));
}
