/** People's actions on a rollout: their signatures are verified again before each advance, as those of consents are. */
import { entryKey } from "../../audit/chain.ts";
import { AppError } from "../../kit/errors.ts";
import { isValidConsent } from "../proofs/verify_consent.ts";
import { type ChangeEvent, parseEvent } from "../rules/event.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { requiresSignature, type Signing } from "../rules/signing.ts";
import { createChangeFacts } from "../rules/statement.ts";
import type { Transaction } from "../transaction.ts";

/** Actions that let a rollout continue. A hold needs no proof: it is always safe. */
const CONTINUING_ACTIONS = new Map<string, "resume" | "advance">([
  ["stage_resumed", "resume"],
  ["stage_advanced", "advance"],
]);

/**
 * Returns an error 403 `proof_invalid` if a resume or an advance lacks the signature that today's intent requires, and no signed
 * resume or advance came after it.
 */
export async function findUnprovenAction(
  { tx, origin, product }: Pick<Transaction, "tx" | "origin" | "product">,
  { change, audit }: Pick<ChangeRecord, "change" | "audit">,
): Promise<AppError | undefined> {
  const { change_id } = change;
  const { signing } = product.intent.policy;
  const entries = await tx.getMany("audit", audit.map(entryKey));
  let unproven: ChangeEvent | undefined;
  for (const event of entries.flatMap((entry) => (entry ? [parseEvent(entry.value)] : [])))
    if (isContinuedByPerson(event)) {
      const facts = { origin, ...createChangeFacts("stage", change) };
      unproven = (await isProven(event, facts, signing)) ? undefined : event;
    }
  if (!unproven) return undefined;
  const { id, event_type, detail } = unproven;
  return new AppError(
    "proof_invalid",
    `entry ${id} (${event_type}) has no signature by a key of ${detail.actor}; hold the rollout of ${change_id} and resume it`,
    { change_id, entry: id },
  );
}

/** The service itself acts under names that begin with `policy:`, and signs nothing. */
const isContinuedByPerson = ({ event_type, detail: { actor } }: ChangeEvent): boolean =>
  CONTINUING_ACTIONS.has(event_type) && typeof actor === "string" && !actor.startsWith("policy:");

async function isProven(
  { event_type, detail }: ChangeEvent,
  facts: { origin: string } & ReturnType<typeof createChangeFacts>,
  signing: Signing,
): Promise<boolean> {
  const { step, note, manifest_hash = "" } = detail;
  const approver = detail.actor!;
  if (!requiresSignature(approver, signing)) return true;
  const statement = {
    decision: "stage",
    step,
    action: CONTINUING_ACTIONS.get(event_type),
    approver,
    note: note ?? "",
  } as const;
  return isValidConsent({ ...facts, ...statement, manifest_hash }, detail, signing);
}
