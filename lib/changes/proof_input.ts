/** The proof of a decision. */
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
import { isForOneUse, noteUse } from "./used_statements.ts";

/** A proof, and when its statement says it was made. */
export interface ProofInput {
  proof?: Proof | undefined;
  at?: string | undefined;
}

/** How far a statement's time may be from the service's clock: a person reads, and touches a key. */
const MAX_STATEMENT_AGE_MS = 10 * 60 * 1000;

/** The members that a client sends; the service adds the rest. */
export type StatedFacts<F> = Omit<F, "origin" | "manifest_hash" | "at">;

/** Decisions that stop or undo something, and the acceptance of a loss itself: a loss of the log's end ends no signature of them. */
const VALID_AFTER_LOSS: ReadonlySet<string> = new Set([
  ...["deny", "revoke", "withdraw", "rollback", "freeze", "mandate_narrow", "mandate_revoke"],
  "accept_loss",
]);

/** Returns when the last loss of the log's end was accepted; undefined where none was. */
async function findLossTime({ evidence, findLastLossId }: Transaction): Promise<string | undefined> {
  const id = await findLastLossId();
  return id > 0 ? (await evidence.storedEntry(id))?.timestamp : undefined;
}

/**
 * Verifies what came with a decision, against the statement that the service makes of the decision itself: whatever else
 * the client may have shown to the person, the log, the change, its content and the manifest are those of here and now.
 * One that is good for one use is noted as used, for as long as any clock that may write would take it; a dry run uses none.
 */
export async function verifyPresentedProof(
  transaction: Transaction,
  decided: StatedFacts<StatementFacts> | StatedFacts<ServiceActionFacts> | StatedFacts<MandateFacts>,
  { proof, at }: ProofInput,
  isDryRun = false,
): Promise<SignatureResult | undefined> {
  const { tx, origin, product, now, at: recordedAt, sha256 } = transaction;
  if (proof === undefined && at === undefined) return undefined;
  if (proof === undefined) throw invalidField("proof", "is required with at");
  if (at === undefined) throw invalidField("at", "is required with proof: the time in the statement that was signed");
  if (Math.abs(now - Date.parse(at)) > MAX_STATEMENT_AGE_MS)
    return { refused: `at is more than ten minutes from this service's clock, ${new Date(now).toISOString()}` };
  const { manifest_hash, intent } = product;
  const statement = statementText({ origin, ...decided, manifest_hash, at });
  const verified = await verifyProof(proof, statement, listKeys(signerName(decided), intent.policy.signing));
  if ("refused" in verified) return verified;
  // The store may have forgotten with the lost entries that it was used.
  const isValid = VALID_AFTER_LOSS.has(decided.decision) || ("action" in decided && decided.action === "hold");
  const lostAt = isValid ? undefined : await findLossTime(transaction);
  if (lostAt !== undefined && Date.parse(at) < Date.parse(lostAt))
    return { refused: `at is before ${lostAt}, when a loss of the log's end was accepted; sign it again` };
  const use = { at: Date.parse(at), over: Date.parse(recordedAt) - MAX_CLOCK_LAG_MS - MAX_STATEMENT_AGE_MS };
  if (!isDryRun && isForOneUse(decided.decision) && !(await noteUse(tx, sha256(statement), use)))
    return { refused: "it was used already; sign it again, with another at" };
  return { statement, proof, key: verified.key };
}

/** The actor: the signer if there is one, otherwise as in the request. */
export const resolveActor = (name: string, signature: SignatureResult | undefined, otherwise: Actor): Actor =>
  signature && "key" in signature
    ? { ...otherwise, actor: name, authenticated: toAuthentication(signature.key) }
    : otherwise;

/** Returns how an actor is authenticated who signs with this key. */
const toAuthentication = (key: Key): "signature" | "signature_unattended" =>
  key.type === "ssh" && key.unattended ? "signature_unattended" : "signature";
