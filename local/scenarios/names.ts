/** Names of changes in a scenario: `$c1` stands for the id of the change that an earlier request made `as: c1`. */
import { suggestWord } from "../../lib/changes/rules/fields.ts";

/** A name that no earlier request gave. */
export class UnknownName extends Error {
  override readonly name = "UnknownName";
}

const IN_PATH = /\$([A-Za-z_]\w*)/g;
const WHOLE = /^\$([A-Za-z_]\w*)$/;

/** Returns a path with ids in place of names. Errors: `UnknownName`. */
export const namePath = (path: string, ids: ReadonlyMap<string, string>): string =>
  path.replaceAll(IN_PATH, (_, name: string) => idOf(name, ids));

/** Returns a body with ids in place of texts that are a name and nothing else; `$$c1` stands for the text `$c1`. Errors: `UnknownName`. */
export function nameBody<T>(value: T, ids: ReadonlyMap<string, string>): T {
  const inside = (inner: unknown): unknown => nameBody(inner, ids);
  if (typeof value === "string") {
    const name = WHOLE.exec(value)?.[1];
    return (name === undefined ? value.replace(/^\$\$/, "$") : idOf(name, ids)) as T;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inside) as T;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, inside(inner)])) as T;
}

function idOf(name: string, ids: ReadonlyMap<string, string>): string {
  const id = ids.get(name);
  if (id !== undefined) return id;
  const known = [...ids.keys()];
  const hint = known.length > 0 ? suggestWord(name, known) : "no request before it has as";
  throw new UnknownName(`$${name} stands for nothing: ${hint}`);
}
