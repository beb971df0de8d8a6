/** Targets of tenants, and how they compare. */

/** Returns a target in the form that is compared: lower case. */
export const normalizeTarget = (target: string): string => target.toLowerCase();

/** Returns true for the same target of the same tenant; the target's case does not matter. */
export const isSameTarget = (a: TargetKey, b: TargetKey): boolean =>
  a.tenant_id === b.tenant_id && normalizeTarget(a.target) === normalizeTarget(b.target);

/** A target of a tenant. */
export interface TargetKey {
  tenant_id: string;
  target: string;
}
