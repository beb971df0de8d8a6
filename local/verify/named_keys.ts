/** Collects the principals and keys that the `intent_in_force` entries of a log name. */
import { readManifestHash } from "./entry_detail.ts";
import { type JsonObject, isObject, stringOrUndefined } from "./json.ts";
import { type KeysByName, normalizeName } from "./policy.ts";

/** Kind and sorted key ids, by name. */
export type Principals = ReadonlyMap<string, { kind: string; keys: readonly string[] }>;

/** Creates a registry of the intents in a log. */
export function createIntentRegistry() {
  const intents = new Map<string, { entry: number; principals: Principals }>();
  return {
    /** Adds the entry of an intent; explains how it contradicts an earlier entry of the same intent, if it does. */
    addIntent(entry: number, detail: JsonObject): string | undefined {
      const [manifest, principals] = [readManifestHash(detail), parsePrincipals(detail["principals"])];
      const earlier = intents.get(manifest);
      if (!earlier) intents.set(manifest, { entry, principals });
      else if (!areSamePrincipals(earlier.principals, principals))
        return `its principals are not those of entry ${earlier.entry}, which has the same manifest_hash`;
      return undefined;
    },
    findPrincipals: (manifest: string): Principals | undefined => intents.get(manifest)?.principals,
    /** Lists the ids of the keys that the intent of an entry has under a name. */
    listKeys: (detail: JsonObject, name: string): readonly string[] =>
      intents.get(readManifestHash(detail))?.principals.get(normalizeName(name))?.keys ?? [],
  };
}

function parsePrincipals(value: unknown): Principals {
  const principals = new Map<string, { kind: string; keys: readonly string[] }>();
  for (const [name, one] of Object.entries(isObject(value) ? value : {})) {
    const { kind, keys } = isObject(one) ? one : {};
    const ids = Array.isArray(keys) ? keys.filter((id): id is string => typeof id === "string") : [];
    principals.set(normalizeName(name), { kind: stringOrUndefined(kind) ?? "", keys: ids.sort() });
  }
  return principals;
}

function areSamePrincipals(principals: Principals, others: Principals): boolean {
  const isEqual = (name: string, { kind, keys }: { kind: string; keys: readonly string[] }): boolean => {
    const other = others.get(name);
    return other !== undefined && other.kind === kind && JSON.stringify(other.keys) === JSON.stringify(keys);
  };
  return principals.size === others.size && [...principals].every(([name, principal]) => isEqual(name, principal));
}

/** Checks that the principals in an entry have exactly the keys of the manifest. */
export const matchesManifest = (principals: Principals, keys: KeysByName): boolean =>
  principals.size === keys.size &&
  [...principals].every(([name, { keys: ids }]) => {
    const own = keys.get(name);
    return own && JSON.stringify(own.map(({ id }) => id).sort()) === JSON.stringify(ids);
  });
