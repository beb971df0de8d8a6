/** The consents of a change that are proven where the intent asks for proof: each is verified anew, at the moment it is used. */
import { entryKey } from "../audit/chain.ts";
import { isGiven } from "./proof/consent.ts";
import type { Approval, Change } from "./rules/change.ts";
import { type ChangeEvent, eventOf } from "./rules/event.ts";
import { sameName } from "./rules/names.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { mustSign, type Signing } from "./rules/signing.ts";
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

/** The entry that tells of a consent, if there is one, holds the proof of it. */
function isProven(
  { approver, note, at, emergency }: Approval,
  events: readonly ChangeEvent[],
  { change_id, digest }: Change,
  { origin, signing }: { origin: string; signing: Signing },
): Promise<boolean> {
  const { detail = {} } =
    events.find(
      ({ event_type, timestamp, detail: { approver: named = "", emergency: urgent = false } }) =>
        event_type === "consent_decision" &&
        timestamp === at &&
        urgent === (emergency ?? false) &&
        sameName(named ?? "") === sameName(approver),
    ) ?? {};
  const { manifest_hash = "" } = detail;
  return isGiven(
    { origin, change_id, decision: emergency ? "approve_emergency" : "approve", digest, approver, note, manifest_hash },
    detail,
    signing,
  );
}
