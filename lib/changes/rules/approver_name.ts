/** Names of people who decide, and of groups in lists of names. */
import { isReservedName } from "../../kit/person_name.ts";
import { normalizeName } from "./names.ts";

/** Name in `policy.permissions.apply` that allows changes to apply by themselves. */
export const POLICY_APPLY_WHEN = "policy:apply_when";

/** Returns true for a name that an approver can have: not reserved, and not a peer's or an agent's. */
export const canBeApprover = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/.test(normalizeName(name));

/** Returns the group that a listed name such as `group:finance` stands for; undefined for a person's name. */
export function findGroup(name: string): string | undefined {
  const normalizedName = normalizeName(name);
  return normalizedName.startsWith("group:") ? normalizedName.slice("group:".length) : undefined;
}
