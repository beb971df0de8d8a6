/** How targets compare. */

/** Returns a target as it is compared: without case. */
export const normalizeTarget = (target: string): string => target.toLowerCase();

/** Returns true where two proposals are about the same target of the same tenant. */
export const isSameTarget = (a: TargetKey, b: TargetKey): boolean =>
  a.tenant_id === b.tenant_id && normalizeTarget(a.target) === normalizeTarget(b.target);

/** A target of a tenant. */
export interface TargetKey {
  tenant_id: string;
  target: string;
}
