/** How targets compare. */

/** Returns a target as it is compared: without case. */
export const sameTarget = (target: string): string => target.toLowerCase();

/** Returns true where two proposals are about the same target of the same tenant. */
export const samePlace = (a: Place, b: Place): boolean =>
  a.tenant_id === b.tenant_id && sameTarget(a.target) === sameTarget(b.target);

/** A target of a tenant. */
export interface Place {
  tenant_id: string;
  target: string;
}
