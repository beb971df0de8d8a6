/** The targets that a change sets, and the value of each. A change that sets several lists them here and nowhere else. */
import type { Content } from "./content.ts";
import { matchesAny } from "./target_pattern.ts";

/** A target and the value that it is set to; without a value the target is left alone. */
export type ChangeEntry = Pick<Content, "tenant_id" | "target" | "value">;

/** Lists what a change, or a proposal, sets. */
export const listEntries = ({ tenant_id, target, value }: ChangeEntry): readonly ChangeEntry[] => [
  { tenant_id, target, value },
];

/** Returns the first target of a change that one of these patterns covers. */
export const findCovered = (change: ChangeEntry, patterns: readonly string[]): string | undefined =>
  listEntries(change).find(({ target }) => matchesAny(target, patterns))?.target;

/** Returns true for a change that sets no value. */
export const setsNothing = (change: ChangeEntry): boolean =>
  listEntries(change).every(({ value }) => value === undefined);
