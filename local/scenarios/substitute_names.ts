/** Substitutes names of changes in a scenario: `$c1` is the id of the change that an earlier request created `as: c1`. */
import { suggestWord } from "../../lib/changes/rules/fields.ts";

/** A name that no earlier request defined. */
export class UnknownName extends Error {
  override readonly name = "UnknownName";
}

const IN_PATH = /\$([A-Za-z_]\w*)/g;
const NAME_ONLY = /^\$([A-Za-z_]\w*)$/;

/** Returns a path with ids in place of names. Errors: `UnknownName`. */
export const substituteInPath = (path: string, ids: ReadonlyMap<string, string>): string =>
  path.replaceAll(IN_PATH, (_, name: string) => findId(name, ids));

/** Returns a body with ids in place of texts that consist of a name; `$$c1` is the text `$c1`. Errors: `UnknownName`. */
export function substituteInBody<T>(value: T, ids: ReadonlyMap<string, string>): T {
  const replaceInner = (inner: unknown): unknown => substituteInBody(inner, ids);
  if (typeof value === "string") {
    const name = NAME_ONLY.exec(value)?.[1];
    return (name === undefined ? value.replace(/^\$\$/, "$") : findId(name, ids)) as T;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(replaceInner) as T;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, replaceInner(inner)])) as T;
}

function findId(name: string, ids: ReadonlyMap<string, string>): string {
  const id = ids.get(name);
  if (id !== undefined) return id;
  const names = [...ids.keys()];
  const hint = names.length > 0 ? suggestWord(name, names) : "no earlier request has the field as";
  throw new UnknownName(`$${name} stands for nothing: ${hint}`);
}
