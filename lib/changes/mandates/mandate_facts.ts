/** The facts in the statement of a decision on a mandate. */
import { type MandateDecision } from "../rules/mandate.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";
import type { Narrowing } from "../rules/mandate_narrow.ts";
import type { CommonFacts } from "../rules/statement.ts";

/** The facts of a statement; with the decision `mandate`, which is a signature, it also has every bound and the systems. */
export interface MandateFacts extends CommonFacts {
  decision: MandateDecision;
  mandate_id: string;
  approver: string;
  revision?: number;
  narrow?: Narrowing;
}

/** Returns the facts of a decision that are about its mandate; the caller adds the approver and the common facts. */
export function createMandateFacts(
  decision: MandateDecision,
  { mandate_id, revision, bounds, systems }: Pick<MandateRecord, "mandate_id" | "revision" | "bounds" | "systems">,
  narrow?: Narrowing,
): Omit<MandateFacts, keyof CommonFacts | "approver"> {
  // The cast, because bounds and systems are not members of `MandateFacts`.
  if (decision === "mandate") return { decision, mandate_id, ...bounds, systems } as never;
  return { decision, mandate_id, revision, ...(narrow && { narrow }) };
}
