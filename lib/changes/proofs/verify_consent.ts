/** Verifies that a logged consent was signed by a key that is valid for its approver. */
import { proofSchema } from "../rules/proof.ts";
import { listKeys, type Signing } from "../rules/signing.ts";
import { type CommonFacts, statedAt, statementText } from "../rules/statement.ts";
import { verifyProof } from "./verify_proof.ts";

/** The proof fields in the entry of a consent. */
export interface Kept {
  statement?: unknown;
  proof?: unknown;
}

/**
 * The signed statement is rebuilt from the current change and the consent: no stored field is trusted except the
 * time, which is signed with the rest.
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
