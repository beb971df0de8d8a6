/** Who must sign what they decide, and which consents count as signed. */
import type { Approval } from "./change.ts";
import type { Key } from "./keys.ts";
import { sameName } from "./names.ts";
import type { Proof } from "./proof.ts";
import type { Principals } from "./principals.ts";

/** The part of the rules in force that is about signatures. */
export interface Signing {
  /** Only signed consents count. */
  only: boolean;
  /** By name, as names are compared: the keys of those who have any. */
  keys: Readonly<Record<string, readonly Key[]>>;
}

/** What an intent says of it: as soon as anybody has keys, only signed consents count, unless it says otherwise. */
export function signingOf(principals: Principals, signedOnly: boolean | undefined): Signing {
  const keys: Record<string, readonly Key[]> = {};
  for (const [name, principal] of Object.entries(principals))
    if (principal.kind === "person" && principal.keys?.length) keys[name] = principal.keys;
  return { only: signedOnly ?? Object.keys(keys).length > 0, keys };
}

/** The keys that stand under a name today. */
export function keysOf(name: string, { keys }: Signing): readonly Key[] {
  const own = sameName(name);
  return Object.hasOwn(keys, own) ? keys[own]! : [];
}

/** Whether what this person decides counts only when it is signed. */
export const mustSign = (name: string, signing: Signing): boolean => signing.only || keysOf(name, signing).length > 0;

/** Whether a consent is signed as it must be, with a key that still stands under its name. */
export const isSignedAsAsked = ({ approver, key }: Pick<Approval, "approver" | "key">, signing: Signing): boolean =>
  !mustSign(approver, signing) || keysOf(approver, signing).some(({ id }) => id === key);

/** A proof that was verified: what it signs, and with which key. */
export interface Signature {
  statement: string;
  proof: Proof;
  key: Key;
}

/** What came with a decision: a signature of it, or why it is none. */
export type Presented = Signature | { refused: string };

/** How an actor is known who signs with this key. */
export const authenticatedBy = (key: Key): "signature" | "signature_unattended" =>
  key.type === "ssh" && key.unattended ? "signature_unattended" : "signature";
