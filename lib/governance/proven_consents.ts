/** The consents of a change that are proven where the intent asks for proof: each is verified anew, at the moment it is used. */
import { entryKey } from "../audit/chain.ts";
import { verifyProof } from "./proof/verify.ts";
import type { Approval, Change } from "./rules/change.ts";
import { type ChangeEvent, eventOf } from "./rules/event.ts";
import { sameName } from "./rules/names.ts";
import { proofSchema } from "./rules/proof.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { keysOf, mustSign } from "./rules/signing.ts";
import { statedAt, statementText } from "./rules/statement.ts";
import type { Transaction } from "./transaction.ts";

/** The change with those consents alone that need no signature, or have one that a key under their name made of it. */
export async function asProven(
  { tx, origin, product }: Pick<Transaction, "tx" | "origin" | "product">,
  { change, audit }: ChangeRecord,
): Promise<Change> {
  const { signing } = product.intent.policy;
  const asked = change.approvals.filter(({ approver }) => mustSign(approver, signing));
  if (asked.length === 0) return change;
  const entries = await tx.getMany("audit", audit.map(entryKey));
  const events = entries.flatMap((entry) => (entry ? [eventOf(entry.value)] : []));
  const unproven = new Set<Approval>();
  for (const approval of asked)
    if (!(await isProven(approval, events, change, { origin, signing }))) unproven.add(approval);
  return { ...change, approvals: change.approvals.filter((approval) => !unproven.has(approval)) };
}

/** What was signed is made anew from the change as it stands and the entry of the consent; nothing is taken at its word. */
async function isProven(
  { approver, note, at }: Approval,
  events: readonly ChangeEvent[],
  { change_id, digest }: Change,
  { origin, signing }: { origin: string; signing: Parameters<typeof keysOf>[1] },
): Promise<boolean> {
  const given = events.find(
    ({ event_type, timestamp, detail }) =>
      event_type === "consent_decision" && timestamp === at && sameName(detail.approver ?? "") === sameName(approver),
  );
  const { statement = "", manifest_hash = "", proof } = given?.detail ?? {};
  const made = {
    origin,
    change_id,
    digest,
    decision: "approve",
    approver,
    note,
    manifest_hash,
    at: statedAt(statement) ?? "",
  } as const;
  const parsed = proofSchema.safeParse(proof);
  if (!parsed.success || statementText(made) !== statement) return false;
  return "key" in (await verifyProof(parsed.data, statement, keysOf(approver, signing)));
}
