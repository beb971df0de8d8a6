/**
 * Formats words of users in a notification: on one line, of limited length, in quotation marks that the text cannot close.
 * Right-to-left text is isolated, so that it does not reorder the text around it.
 */
import type { MissingConsent } from "../../changes/rules/missing_consents.ts";
import { label, quote } from "../../kit/quote.ts";

const MAX_QUOTED_LENGTH = 200;
const MAX_NAMES = 5;
const MAX_RULES = 3;

const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}]/u;
/** A name that chat programs would read as a link or as a mention of a channel. */
const LINK_OR_MENTION = /^@|\/\//;

const isolateDirection = (text: string): string => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

/** Quotes prose of a user. */
export const quoteProse = (text: string): string => isolateDirection(quote(text, MAX_QUOTED_LENGTH));

/** Formats the name of a person, a tenant or a target. */
export const quoteName = (name: string): string =>
  isolateDirection(LINK_OR_MENTION.test(name) ? quote(name, MAX_QUOTED_LENGTH) : label(name));

/** Joins names: `ana, bo and cy`; of many only the first ones, and the number of the others. */
export function joinNames(names: readonly string[], last = "and"): string {
  const first = names.slice(0, MAX_NAMES).map(quoteName);
  const more = names.length - first.length;
  if (more > 0) return `${first.join(", ")} ${last} ${more} more`;
  return first.length < 2 ? first.join("") : `${first.slice(0, -1).join(", ")} ${last} ${first.at(-1)}`;
}

/** `3 people`; with a separator between thousands. */
export const countPeople = (count: number): string =>
  `${new Intl.NumberFormat("en").format(count)} ${count === 1 ? "person" : "people"}`;

/** `on 2026-11-24 at 18:00 UTC`. */
export const formatTime = (time: string): string => `on ${time.slice(0, 10)} at ${time.slice(11, 16)} UTC`;

/** Describes the consents that each rule lacks, with names if the intent names people. */
export function describeMissing(missing: readonly MissingConsent[]): string {
  const rules = missing.slice(0, MAX_RULES).map(describeMissingRule);
  const more = missing.length - rules.length;
  return `${rules.join("; ")}${more > 0 ? `; and the consents of ${more} more rules` : ""}`;
}

function describeMissingRule({ rule, count, of, unreachable }: MissingConsent): string {
  // The rule of owners is the word and their targets, such as "owners price.*".
  const ownersOf = rule.startsWith("owners ") ? ` (for the owners of ${quoteName(rule.slice("owners ".length))})` : "";
  if (unreachable) return `${countPeople(count)}${ownersOf}, but nobody is left who may consent`;
  if (of.length === 0) return `${countPeople(count)}${ownersOf}`;
  if (count === of.length) return `${joinNames(of)}${ownersOf}`;
  return `${count === 1 ? "one" : count} of ${joinNames(of, "or")}${ownersOf}`;
}
