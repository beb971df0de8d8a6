/** The targets that a change sets, and their values; a plan sets several. */
import type { PlanEntry } from "./change.ts";
import type { Content } from "./content.ts";
import { matchesAny } from "./target_pattern.ts";

/** A target with its new value, which may be absent; or the name of a plan with its entries. */
export type ChangeEntry = Pick<Content, "tenant_id" | "target" | "value" | "sets">;

/** Returns true for a plan: a change that sets several targets, and whose own target is only a name. */
export const isPlan = (change: ChangeEntry): boolean => change.sets !== undefined;

/** Lists what a change, or a proposal, sets. */
export const listEntries = ({ tenant_id, target, value, sets }: ChangeEntry): readonly PlanEntry[] =>
  sets ?? [{ tenant_id, target, value }];

/** Lists the targets that rules apply to: those that a change sets; the name of a plan comes first. */
export const listGovernedEntries = (change: ChangeEntry): readonly PlanEntry[] =>
  isPlan(change)
    ? [{ tenant_id: change.tenant_id, target: change.target }, ...listEntries(change)]
    : listEntries(change);

/** Returns true for a change of a tenant, and for a plan that sets a target of that tenant. */
export const hasTenant = (change: ChangeEntry, tenant: string): boolean =>
  listGovernedEntries(change).some(({ tenant_id }) => tenant_id === tenant);

/** The targets and tenants that a rule is for; absent: all. */
export interface Scope {
  targets?: readonly string[] | undefined;
  tenants?: readonly string[] | undefined;
}

/** Returns true if a rule applies to this entry. */
export const isInScope = (
  { target, tenant_id }: Pick<PlanEntry, "target" | "tenant_id">,
  { targets, tenants }: Scope,
): boolean => (!targets || matchesAny(target, targets)) && (!tenants || tenants.includes(tenant_id));

/** Returns the first target of a change, a plan's name included, that a rule is for. */
export const findCoveredTarget = (change: ChangeEntry, scope: Scope): string | undefined =>
  listGovernedEntries(change).find((entry) => isInScope(entry, scope))?.target;

/** Returns true for a change that sets no value. */
export const hasNoValue = (change: ChangeEntry): boolean =>
  listEntries(change).every(({ value }) => value === undefined);
