/** Whose keys a verifier trusts: those of a file that was kept outside, an intent for one. */
import { readFileSync } from "node:fs";
import { Unreadable } from "./kept.ts";

/** A key of a person; its other members are of its type. */
export type Key = Readonly<Record<string, unknown>>;

/** Keys by name, as names are compared. */
export type Policy = ReadonlyMap<string, readonly Key[]>;

/** A name as it is compared: trimmed, NFKC, without case, of spaces one at a time; a final sigma is a sigma. */
export const sameName = (name: string): string =>
  name.normalize("NFKC").trim().toLowerCase().normalize("NFKC").replace(/\s+/g, " ").replaceAll("\u03c2", "\u03c3");

/** What an intent, or another JSON object, says of principals. */
export interface WithPrincipals {
  principals?: Record<string, { keys?: Key[] }>;
}

/** The keys that principals have. */
export const keysOf = ({ principals = {} }: WithPrincipals): Policy =>
  new Map(Object.entries(principals).map(([name, { keys = [] }]) => [sameName(name), keys]));

/** Reads the `principals` of a JSON file. Errors: `Unreadable`. */
export function readPolicy(file: string): Policy {
  try {
    const { principals } = JSON.parse(readFileSync(file, "utf8")) as WithPrincipals;
    if (principals === undefined) throw new TypeError("no principals");
    return keysOf({ principals });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Unreadable(
      code ? `${file} cannot be read: ${code}` : `${file} is no JSON with the principals of an intent`,
    );
  }
}
