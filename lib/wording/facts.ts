/** Puts recorded facts of an entry into words; the result is empty if the entry lacks the fact. */
import { minuteText } from "../kit/days.ts";
import { nameActor } from "./names.ts";
import type { Part } from "./part.ts";

export type Facts = Readonly<Record<string, unknown>>;

export const readText = (facts: Facts, name: string): string => {
  const value = facts[name];
  return typeof value === "string" ? value : "";
};

/** Returns a recorded text between fixed words: ` in apply`; empty if it is not recorded. */
export const recordedPart = (facts: Facts, before: string, name: string, after = ""): Part[] => {
  const value = readText(facts, name);
  return value === "" ? [] : [before, { text: value }, after];
};

export const toWords = (name: string): string => name.replaceAll("_", " ");

/** Returns ` by ana` from the first recorded field; empty if none is recorded. */
export function actorPart(facts: Facts, ...fields: string[]): Part[] {
  const name = fields.map((field) => readText(facts, field)).find(Boolean);
  if (!name) return [];
  // `authenticated` says how the actor was identified, and nothing about another person in the entry.
  const isAgent = facts["authenticated"] === "agent" && (facts["actor"] ?? name) === name;
  return [" by ", ...nameActor(name, isAgent ? "agent" : undefined)];
}

export const phraseIf = (facts: Facts, field: string, words: string): string => (facts[field] === true ? words : "");

/** Returns a recorded moment after fixed words; empty if it is not recorded. */
export function momentText(facts: Facts, field: string, words: string): string {
  const ms = Date.parse(readText(facts, field));
  return Number.isNaN(ms) ? "" : `${words}${minuteText(new Date(ms).toISOString())}`;
}
