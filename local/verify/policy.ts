/** Whose keys a verifier trusts: those of a file that was kept outside, an intent for one. */
import { readFileSync } from "node:fs";
import { Unreadable } from "./kept.ts";

/** A key of a person; its other members are of its type. */
export type Key = Readonly<Record<string, unknown>>;

/** Keys by name, as names are compared. */
export type Policy = ReadonlyMap<string, readonly Key[]>;

/** Joiners, variation selectors and tags, by which names that look alike may differ. */
const JOINERS = /\u200c|\u200d|[\ufe0e\ufe0f]|[\u{e0020}-\u{e007f}]/gu;

/** A name as it is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners. */
export const sameName = (name: string): string =>
  Array.from(name.normalize("NFKC").trim(), fold).join("").normalize("NFKC").replace(/\s+/g, " ").replace(JOINERS, "");

/** Case folding of one letter; a dotless i stays itself. */
const fold = (letter: string): string =>
  letter === "\u0131" ? letter : letter.toLowerCase().toUpperCase().toLowerCase();

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
