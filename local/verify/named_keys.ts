/** The keys that a log names for people: those in its `intent_in_force` entries. */
import { readManifestHash } from "./detail.ts";
import { type Detail, isObject, asText } from "./json.ts";
import { type Policy, sameName } from "./policy.ts";

/** Kind and key ids by name, in the order of the names. */
export type Principals = ReadonlyMap<string, { kind: string; keys: readonly string[] }>;

/** Collects the intents of a log. */
export function named() {
  const known = new Map<string, { entry: number; principals: Principals }>();
  return {
    /** Takes an intent's entry; explains why it contradicts an earlier one of the same hash, if it does. */
    learn(entry: number, detail: Detail): string | undefined {
      const [manifest, principals] = [readManifestHash(detail), principalsIn(detail["principals"])];
      const before = known.get(manifest);
      if (!before) known.set(manifest, { entry, principals });
      else if (!isSame(before.principals, principals))
        return `it names other principals of its intent than entry ${before.entry}, which is of the same manifest_hash`;
      return undefined;
    },
    principalsOf: (manifest: string): Principals | undefined => known.get(manifest)?.principals,
    /** The ids of the keys that the intent of an entry lists under a name. */
    keysOf: (detail: Detail, name: string): readonly string[] =>
      known.get(readManifestHash(detail))?.principals.get(sameName(name))?.keys ?? [],
  };
}

function principalsIn(value: unknown): Principals {
  const principals = new Map<string, { kind: string; keys: readonly string[] }>();
  for (const [name, one] of Object.entries(isObject(value) ? value : {})) {
    const { kind, keys } = isObject(one) ? one : {};
    const ids = Array.isArray(keys) ? keys.filter((id): id is string => typeof id === "string") : [];
    principals.set(sameName(name), { kind: asText(kind) ?? "", keys: ids.sort() });
  }
  return principals;
}

function isSame(some: Principals, others: Principals): boolean {
  const isEqual = (name: string, { kind, keys }: { kind: string; keys: readonly string[] }): boolean => {
    const other = others.get(name);
    return other !== undefined && other.kind === kind && JSON.stringify(other.keys) === JSON.stringify(keys);
  };
  return some.size === others.size && [...some].every(([name, one]) => isEqual(name, one));
}

/** Checks that a log names the keys that the manifest lists for the intent's people. */
export const isOfManifest = (principals: Principals, keys: Policy): boolean =>
  principals.size === keys.size &&
  [...principals].every(([name, { keys: ids }]) => {
    const own = keys.get(name);
    return own && JSON.stringify(own.map(({ id }) => id).sort()) === JSON.stringify(ids);
  });
