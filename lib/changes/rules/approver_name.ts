/** Names that a person who decides can have. */
import { isReservedName } from "../../kit/person_name.ts";
import { sameName } from "./names.ts";

/** Returns true for a name that a person who decides can have: not reserved, nor a peer's or an agent's. */
export const canBeApprover = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/.test(sameName(name));
