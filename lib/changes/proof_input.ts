/** Verifies the signature that comes with a decision or action. */
import { MAX_CLOCK_LAG_MS } from "../audit/chain.ts";
import { invalidField } from "../kit/errors.ts";
import { verifyProof } from "./proofs/verify_proof.ts";
import type { MandateFacts } from "./mandates/mandate_facts.ts";
import type { Actor } from "./rules/actor.ts";
import type { Proof } from "./rules/proof.ts";
import { type ServiceActionFacts, signerName } from "./rules/service_action.ts";
import type { Key } from "./rules/keys.ts";
import type { SignatureResult } from "./rules/require_signature.ts";
import { listKeys } from "./rules/signing.ts";
import { type StatementFacts, statementText } from "./rules/statement.ts";
import type { Transaction } from "./transaction.ts";
import { isForOneUse, storeUse } from "./used_statements.ts";

/** A proof, and the time in its statement. */
export interface ProofInput {
  proof?: Proof | undefined;
  at?: string | undefined;
}

/** Maximum distance of a statement's time from the service's clock: time to read and to touch a key. */
const MAX_STATEMENT_AGE_MS = 10 * 60 * 1000;

/** The facts of a statement that a request states; the service adds the others. */
export type StatedFacts<F> = Omit<F, "origin" | "manifest_hash" | "at">;

/**
 * Decisions that stop or undo something, and the acceptance of a loss: their signatures stay valid after a loss of the log's end.
 */
const VALID_AFTER_LOSS: ReadonlySet<string> = new Set([
  ...["deny", "revoke", "withdraw", "rollback", "freeze", "mandate_narrow", "mandate_revoke"],
  "accept_loss",
]);

/** Finds when the last loss of the log's end was accepted; undefined if there was none. */
async function findLossTime({ evidence, findLastLossId }: Transaction): Promise<string | undefined> {
  const id = await findLastLossId();
  return id > 0 ? (await evidence.storedEntry(id))?.timestamp : undefined;
}

/**
 * Verifies the proof of a decision against the statement that the service creates from the current log, change, content and
 * manifest, regardless of what the client showed to the person. A statement for one use is stored as used, except in a dry run.
 */
export async function verifyPresentedProof(
  transaction: Transaction,
  facts: StatedFacts<StatementFacts> | StatedFacts<ServiceActionFacts> | StatedFacts<MandateFacts>,
  { proof, at }: ProofInput,
  isDryRun = false,
): Promise<SignatureResult | undefined> {
  const { tx, origin, product, now, at: recordedAt, sha256 } = transaction;
  if (proof === undefined && at === undefined) return undefined;
  if (proof === undefined) throw invalidField("proof", "is required with at");
  if (at === undefined) throw invalidField("at", "is required with proof: the time in the statement that was signed");
  if (Math.abs(now - Date.parse(at)) > MAX_STATEMENT_AGE_MS)
    return { invalid: `at is more than ten minutes from this service's clock, ${new Date(now).toISOString()}` };
  const { manifest_hash, intent } = product;
  const statement = statementText({ origin, ...facts, manifest_hash, at });
  const verified = await verifyProof(proof, statement, listKeys(signerName(facts), intent.policy.signing));
  if ("invalid" in verified) return verified;
  // The record that the statement was used may be lost together with the lost entries. A `hold` stops a rollout.
  const isValidAfterLoss = VALID_AFTER_LOSS.has(facts.decision) || ("action" in facts && facts.action === "hold");
  const lossTime = isValidAfterLoss ? undefined : await findLossTime(transaction);
  if (lossTime !== undefined && Date.parse(at) < Date.parse(lossTime))
    return { invalid: `at is before ${lossTime}, when a loss of the log's end was accepted; sign it again` };
  // The clock may be behind the time that the log records.
  const earliestAccepted = Date.parse(recordedAt) - MAX_CLOCK_LAG_MS - MAX_STATEMENT_AGE_MS;
  const use = { at: Date.parse(at), earliestAccepted };
  if (!isDryRun && isForOneUse(facts.decision) && !(await storeUse(tx, sha256(statement), use)))
    return { invalid: "it was used already; sign it again, with another at" };
  return { statement, proof, key: verified.key };
}

/** Returns the signer as the actor; without a signature, the actor that the request claims. */
export const resolveActor = (name: string, signature: SignatureResult | undefined, claimed: Actor): Actor =>
  signature && "key" in signature
    ? { ...claimed, actor: name, authenticated: toAuthentication(signature.key) }
    : claimed;

/** Returns how a signature with this key authenticates its actor. */
const toAuthentication = (key: Key): "signature" | "signature_unattended" =>
  key.type === "ssh" && key.unattended ? "signature_unattended" : "signature";
