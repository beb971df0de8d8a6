/** Who must sign what they decide, and which consents count as signed. */
import type { Sha256 } from "../../kit/platform.ts";
import type { Approval } from "./change.ts";
import { signingKeyId } from "./key_material.ts";
import type { Key } from "./keys.ts";
import { normalizeName } from "./names.ts";
import type { Principals } from "./principals.ts";

/** A key, with the id by which entries name it. */
export type KnownKey = Key & { id: string };

/** The rules about signatures. */
export interface Signing {
  /** Only signed consents count. */
  signedOnly: boolean;
  /** Keys by normalized name, for people who have any. */
  keys: Readonly<Record<string, readonly KnownKey[]>>;
}

/** Lists the names that have keys. */
export const listNamesWithKeys = (principals: Principals): string[] =>
  Object.keys(principals).filter((name) => listPrincipalKeys(principals[name]!).length > 0);

const listPrincipalKeys = (principal: Principals[string]): readonly Key[] =>
  principal.kind === "person" ? (principal.keys ?? []) : [];

/**
 * Returns the signing rules of an intent. If anybody has keys, only signed consents count, unless `signed_only` says otherwise.
 */
export function makeSigning(principals: Principals, signedOnly: boolean | undefined, sha256: Sha256): Signing {
  const names = listNamesWithKeys(principals);
  const listKnownKeys = (name: string): KnownKey[] =>
    listPrincipalKeys(principals[name]!).map((key) => ({ ...key, id: signingKeyId(key, sha256) }));
  const keys = Object.fromEntries(names.map((name) => [name, listKnownKeys(name)]));
  return { signedOnly: signedOnly ?? names.length > 0, keys };
}

/** Lists the keys of a name under today's intent. */
export function listKeys(name: string, { keys }: Signing): readonly KnownKey[] {
  const normalizedName = normalizeName(name);
  return Object.hasOwn(keys, normalizedName) ? keys[normalizedName]! : [];
}

/** Returns true if a decision of this person counts only when it is signed. */
export const requiresSignature = (name: string, signing: Signing): boolean =>
  signing.signedOnly || listKeys(name, signing).length > 0;

/** Returns true if a decision of this person can count: if only signed decisions do, the person needs a key. */
export const canSign = (name: string, signing: Signing): boolean =>
  !signing.signedOnly || listKeys(name, signing).length > 0;

/** Returns true if a consent is signed as required, with a key that its approver still has. */
export const isSignedAsRequired = ({ approver, key }: Pick<Approval, "approver" | "key">, signing: Signing): boolean =>
  !requiresSignature(approver, signing) || listKeys(approver, signing).some(({ id }) => id === key);
