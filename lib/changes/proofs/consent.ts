/** Whether a consent that a log tells of was given by a key that stands under its approver's name. */
import { proofSchema } from "../rules/proof.ts";
import { listKeys, type Signing } from "../rules/signing.ts";
import { type CommonFacts, statedAt, statementText } from "../rules/statement.ts";
import { verifyProof } from "./verify.ts";

/** What the entry of a consent keeps of its proof. */
export interface Kept {
  statement?: unknown;
  proof?: unknown;
}

/**
 * What was signed is made anew, of the change as it stands and what is said of the consent: nothing that is kept is taken
 * at its word but the time, which is signed with the rest.
 */
export async function isGiven(
  consent: Omit<CommonFacts, "at"> & { approver: string },
  { statement, proof }: Kept,
  signing: Signing,
): Promise<boolean> {
  const parsed = proofSchema().safeParse(proof);
  const at = typeof statement === "string" ? statedAt(statement) : undefined;
  if (!parsed.success || at === undefined) return false;
  const made = statementText({ ...consent, at });
  return made === statement && "key" in (await verifyProof(parsed.data, made, listKeys(consent.approver, signing)));
}
