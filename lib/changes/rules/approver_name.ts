/** Names that a person who decides can have. */
import { isReservedName } from "../../kit/person_name.ts";
import { normalizeName } from "./names.ts";

/** The intent's `apply_when`, which applies changes by themselves; in the list of those who may apply. */
export const POLICY_APPLY_WHEN = "policy:apply_when";

/** Returns true for a name that a person who decides can have: not reserved, nor a peer's or an agent's. */
export const canBeApprover = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/.test(normalizeName(name));

/** Returns the group that a name of a list stands for; undefined for a person's name. */
export function findGroup(name: string): string | undefined {
  const same = normalizeName(name);
  return same.startsWith("group:") ? same.slice("group:".length) : undefined;
}
