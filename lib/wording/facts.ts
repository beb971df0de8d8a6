/** Facts that an entry of the log records, in words; each is empty where the entry lacks it. */
import { minuteText } from "../kit/days.ts";
import { nameActor } from "./names.ts";
import type { Part } from "./part.ts";

export type Facts = Readonly<Record<string, unknown>>;

export const readText = (facts: Facts, name: string): string => {
  const value = facts[name];
  return typeof value === "string" ? value : "";
};

/** A recorded word after ours: ` in apply`; empty where it is not recorded. */
export const recordedPart = (facts: Facts, before: string, name: string, after = ""): Part[] => {
  const value = readText(facts, name);
  return value === "" ? [] : [before, { given: value }, after];
};

export const toWords = (name: string): string => name.replaceAll("_", " ");

/** ` by ana`; empty where no actor is recorded. */
export function actorPart(facts: Facts, ...fields: string[]): Part[] {
  const name = fields.map((field) => readText(facts, field)).find(Boolean);
  if (!name) return [];
  const isAgent = facts["authenticated"] === "agent" && (facts["actor"] ?? name) === name;
  return [" by ", ...nameActor(name, isAgent ? "agent" : undefined)];
}

export const phraseIf = (facts: Facts, field: string, words: string): string => (facts[field] === true ? words : "");

/** A moment after our words; empty where none is recorded. */
export function momentText(facts: Facts, field: string, words: string): string {
  const ms = Date.parse(readText(facts, field));
  return Number.isNaN(ms) ? "" : `${words}${minuteText(new Date(ms).toISOString())}`;
}
