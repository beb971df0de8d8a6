/** Facts that an entry of the log records, in words; each is empty where the entry lacks it. */
import { minuteText } from "../kit/days.ts";
import { nameActor } from "./names.ts";
import type { Part } from "./part.ts";

export type Facts = Readonly<Record<string, unknown>>;

export const text = (facts: Facts, name: string): string => {
  const value = facts[name];
  return typeof value === "string" ? value : "";
};

/** A recorded word after ours: ` in apply`; empty where it is not recorded. */
export const given = (facts: Facts, before: string, name: string, after = ""): Part[] => {
  const value = text(facts, name);
  return value === "" ? [] : [before, { given: value }, after];
};

export const words = (name: string): string => name.replaceAll("_", " ");

/** ` by ana`; empty where no actor is recorded. */
export function by(facts: Facts, ...fields: string[]): Part[] {
  const name = fields.map((field) => text(facts, field)).find(Boolean);
  if (!name) return [];
  const isAgent = facts["authenticated"] === "agent" && (facts["actor"] ?? name) === name;
  return [" by ", ...nameActor(name, isAgent ? "agent" : undefined)];
}

export const when = (facts: Facts, field: string, words: string): string => (facts[field] === true ? words : "");

/** A moment after our words; empty where none is recorded. */
export function moment(facts: Facts, field: string, words: string): string {
  const ms = Date.parse(text(facts, field));
  return Number.isNaN(ms) ? "" : `${words}${minuteText(new Date(ms).toISOString())}`;
}
