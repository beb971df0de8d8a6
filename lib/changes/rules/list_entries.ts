/** The targets that a change sets, and the value of each. A change that sets several lists them here and nowhere else. */
import type { Content } from "./content.ts";
import { matchesAny } from "./target_pattern.ts";

/** A target and the value that it is set to; without a value the target is left alone. */
export type ChangeEntry = Pick<Content, "tenant_id" | "target" | "value">;

/** Lists what a change, or a proposal, sets. */
export const listEntries = ({ tenant_id, target, value }: ChangeEntry): readonly ChangeEntry[] => [
  { tenant_id, target, value },
];

/** The targets and tenants that a rule is for; absent: all. */
export interface Scope {
  targets?: readonly string[] | undefined;
  tenants?: readonly string[] | undefined;
}

/** Returns true where a rule is for this entry. */
export const isInScope = (
  { target, tenant_id }: Pick<ChangeEntry, "target" | "tenant_id">,
  { targets, tenants }: Scope,
): boolean => (!targets || matchesAny(target, targets)) && (!tenants || tenants.includes(tenant_id));

/** Returns the first target of a change that a rule is for. */
export const findCovered = (change: ChangeEntry, scope: Scope): string | undefined =>
  listEntries(change).find((entry) => isInScope(entry, scope))?.target;

/** Returns true for a change that sets no value. */
export const setsNothing = (change: ChangeEntry): boolean =>
  listEntries(change).every(({ value }) => value === undefined);
