/** How names and targets compare: a look-alike of a different spelling is the same name. */
import { isReservedName } from "../../kit/person_name.ts";

/** Letters of ASCII with single spaces between them: of these only the case is not as it is compared. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Joiners, variation selectors and tags: text may need them, and two names that differ by them alone look alike. */
const JOINERS = /\u200c|\u200d|[\ufe0e\ufe0f]|[\u{e0020}-\u{e007f}]/gu;

/** A person's name as it is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners. */
export const sameName = (name: string): string => (PLAIN.test(name) ? name.toLowerCase() : comparable(name));

const comparable = (name: string): string =>
  fold(name.normalize("NFKC").trim()).normalize("NFKC").replaceAll(/\s+/g, " ").replaceAll(JOINERS, "");

/** Full case folding, letter by letter; a dotless i stays itself. */
const fold = (text: string): string =>
  text.replaceAll(/[^\u0131]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase());

/** Whether a name is this one, or one of these. */
export const isOneOf = (name: string, names: string | readonly string[]): boolean =>
  [names].flat().some((one) => sameName(one) === sameName(name));

/** Returns true for a name that a person who decides can have: not reserved, nor a peer's or an agent's. */
export const canBeApprover = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/.test(sameName(name));

/** A target as it is compared: without case. */
export const sameTarget = (target: string): string => target.toLowerCase();

/** Whether two proposals are about the same target of the same tenant. */
export const samePlace = (a: Place, b: Place): boolean =>
  a.tenant_id === b.tenant_id && sameTarget(a.target) === sameTarget(b.target);

/** A target of a tenant. */
interface Place {
  tenant_id: string;
  target: string;
}

/** Whether a target falls under a pattern; `*` stands for any characters. In one pass: anybody may ask with a pattern. */
export function matchesPattern(target: string, pattern: string): boolean {
  const [begin, ...parts] = sameTarget(pattern).split("*") as [string, ...string[]];
  const text = sameTarget(target);
  const end = parts.pop();
  if (end === undefined) return text === begin;
  if (!text.startsWith(begin) || !text.endsWith(end)) return false;
  let from = begin.length;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from + end.length <= text.length;
}

/** Whether a target falls under any of the patterns. */
export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(target, pattern));
