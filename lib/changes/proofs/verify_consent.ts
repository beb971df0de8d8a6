/** Verifies that a logged consent was signed by a key that is valid for its approver. */
import { proofSchema } from "../rules/proof.ts";
import { listKeys, type Signing } from "../rules/signing.ts";
import { type CommonFacts, parseStatementTime, statementText } from "../rules/statement.ts";
import { verifyProof } from "./verify_proof.ts";

/** The proof fields in the entry of a consent. */
export type SignedEntry = { statement?: unknown; proof?: unknown };

/**
 * Returns true if a key of the approver signed the consent. The statement is rebuilt from the current change and the consent: no
 * stored field is trusted except the time, which is part of the signed statement.
 */
export async function isValidConsent(
  consent: Omit<CommonFacts, "at"> & { approver: string },
  { statement, proof }: SignedEntry,
  signing: Signing,
): Promise<boolean> {
  const parsed = proofSchema().safeParse(proof);
  const at = typeof statement === "string" ? parseStatementTime(statement) : undefined;
  if (!parsed.success || at === undefined) return false;
  const text = statementText({ ...consent, at });
  return text === statement && "key" in (await verifyProof(parsed.data, text, listKeys(consent.approver, signing)));
}
