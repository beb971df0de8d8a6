/** Adds signatures to mandates: to a draft until it is active, and to the resumption of a suspended mandate. */
import { AppError } from "../../kit/errors.ts";
import { type Caller, findActor, requirePerson } from "../caller.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import type { Receipt, ReplayedReply } from "../replies.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { Actor } from "../rules/actor.ts";
import { requireGroups } from "../rules/idp_groups.ts";
import type { MandateDecision, MandateState } from "../rules/mandate.ts";
import { requireAllowedMandate } from "../rules/mandate_allowed.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";
import { canSignMandate, listMissingSignatures } from "../rules/mandate_signers.ts";
import type { MissingConsent } from "../rules/missing_consents.ts";
import { normalizeName } from "../rules/names.ts";
import type { Narrowing } from "../rules/mandate_narrow.ts";
import type { SignatureResult } from "../rules/require_signature.ts";
import { requireSignature } from "../rules/require_signature.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { isOldDraft } from "./draft.ts";
import { findKpiBelowFloorNow } from "./kpi_floor.ts";
import { judgeMandate, listSigners } from "./judge_mandate.ts";
import { createMandateFacts } from "./mandate_facts.ts";
import { findMandate } from "./read_mandate.ts";
import { recordEvent } from "./record_event.ts";
import { suspendIfBelowFloor } from "./suspend.ts";
import { listReachedSystems } from "./systems.ts";
import { type MandateView, viewMandate } from "./view.ts";

/** A decision on a mandate by a person. */
export interface MandateInput extends ProofInput {
  mandate_id: string;
  approver: string;
  note?: string | undefined;
}

/** The mandate after a decision. */
export interface MandateResult extends Receipt {
  mandate: MandateView;
}

/** Creates the error for a decision that a mandate does not allow now: 400 `illegal_transition`. */
export const createDecisionRejection = ({ mandate_id, state }: MandateRecord, reason: string): AppError =>
  new AppError("illegal_transition", `${mandate_id}: ${reason}`, { mandate_id, current_status: state });

/** Requires a person who may sign a mandate. Errors: 403 `not_an_approver`. */
export function requireSigner({ product }: Transaction, { bounds }: MandateRecord, name: string): void {
  if (canSignMandate(name, bounds, product.intent)) return;
  throw new AppError(
    "not_an_approver",
    `${name} may not decide on any change, and owns nothing that this mandate covers`,
  );
}

/**
 * Verifies the signature of a decision, and the groups of the caller's token. Errors: 400 `invalid_field`, 403
 * `not_an_approver`, `proof_required`, `proof_invalid`, `identity_mismatch`.
 */
export async function signDecision(
  transaction: Transaction,
  caller: Caller,
  mandate: MandateRecord,
  decision: MandateDecision,
  { approver, note = "", proof, at }: MandateInput,
  narrow?: Narrowing,
): Promise<{ signature: SignatureResult | undefined; facts: Actor & object }> {
  const { intent } = transaction.product;
  const statementFacts = { ...createMandateFacts(decision, mandate, narrow), approver, note };
  const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at });
  const actor = resolveActor(approver, signature, findActor(caller, approver));
  requireGroups(approver, actor, intent);
  const signed = requireSignature({ type: decision, name: approver, signature }, intent.policy, actor);
  requirePerson(caller, "approver", approver);
  return { signature, facts: { ...actor, ...signed } };
}

/** Signs a draft. With the last signature the mandate becomes active, or suspended if a KPI is below its floor. */
export const signMandate = (caller: Caller, input: MandateInput): Promise<MandateResult | ReplayedReply> =>
  runTransaction(caller, async (transaction): Promise<MandateResult> => {
    const { product, at } = transaction;
    const mandate = await findMandate(transaction, input.mandate_id);
    const { bounds, systems, state } = mandate;
    const createRejection = (reason: string): AppError => createDecisionRejection(mandate, reason);
    if (state !== "draft") throw createRejection(`it is ${state}, and only a draft is signed`);
    if (isOldDraft(mandate, Date.parse(at)))
      throw createRejection("the draft is older than seven days; make a new one");
    const { created_at, note: draft_note } = mandate;
    if (created_at > at) throw createRejection("the draft is dated after now; make a new one");
    requireAllowedMandate(bounds, product.intent.policy, Date.parse(created_at));
    if (bounds.until <= at) throw createRejection(`it ended at ${bounds.until}`);
    if (canonicalJson(listReachedSystems(product.adapter, bounds)) !== canonicalJson(systems))
      throw createRejection("the target systems that it reaches have changed since the draft; make a new one");
    const { missing, facts, note } = await addSignature(transaction, caller, mandate, "mandate", input);
    const status: MandateState = missing.length === 0 ? "active" : "draft";
    const detail = {
      revision: 1,
      status,
      approver: input.approver,
      note,
      bounds,
      systems,
      created_at,
      draft_note,
      ...facts,
    };
    const { mandate: signed, entry } = recordEvent(transaction, mandate, "mandate_signed", detail);
    return { entry, mandate: await viewMandate(transaction, await suspendIfBelowFloor(transaction, signed)) };
  });

/**
 * Signs the resumption of a suspended mandate, which resumes with the last missing signature. Errors: 400 `illegal_transition`,
 * also while a KPI is below its floor.
 */
export const resumeMandate = (caller: Caller, input: MandateInput): Promise<MandateResult | ReplayedReply> =>
  runTransaction(caller, async (transaction): Promise<MandateResult> => {
    const mandate = await findMandate(transaction, input.mandate_id);
    const createRejection = (reason: string): AppError => createDecisionRejection(mandate, reason);
    const isSuspendedByLoss = mandate.state === "active" && (await transaction.findLastLossId()) > mandate.counts_from;
    if (mandate.state !== "suspended" && !isSuspendedByLoss)
      throw createRejection(`it is ${mandate.state}, and not suspended`);
    const { bounds } = await judgeMandate(transaction, mandate);
    if (!bounds) throw createRejection("the intent has no policy.mandates");
    if (bounds.until <= transaction.at) throw createRejection(`it ended at ${bounds.until}`);
    const below = await findKpiBelowFloorNow(transaction, mandate);
    if (below) throw createRejection(`${below.kpi} is ${below.value}, worse than its floor`);
    // Signatures of a resumption that came before the loss do not count after it.
    const suspended = isSuspendedByLoss ? { ...mandate, resumes: [] } : mandate;
    const { missing, facts, note } = await addSignature(transaction, caller, suspended, "mandate_resume", input);
    const status: MandateState = missing.length === 0 ? "active" : "suspended";
    const detail = { revision: mandate.revision, status, approver: input.approver, note, ...facts };
    const { mandate: resumed, entry } = recordEvent(transaction, mandate, "mandate_resumed", detail);
    return { entry, mandate: await viewMandate(transaction, resumed) };
  });

/** Verifies one more signature, and lists the signatures that are still missing. */
async function addSignature(
  transaction: Transaction,
  caller: Caller,
  mandate: MandateRecord,
  decision: "mandate" | "mandate_resume",
  input: MandateInput,
): Promise<{ missing: MissingConsent[]; facts: object; note: string }> {
  const { approver } = input;
  const { intent } = transaction.product;
  const signers = await listSigners(transaction, mandate, decision);
  if (signers.some((name) => normalizeName(name) === normalizeName(approver)))
    throw new AppError("already_decided", `${approver} has signed it already`, { current_status: mandate.state });
  requireSigner(transaction, mandate, approver);
  const { signature, facts } = await signDecision(transaction, caller, mandate, decision, input);
  if (signature && "key" in signature && signature.key.type === "ssh" && signature.key.unattended)
    throw new AppError("proof_invalid", "a key that signs unattended does not count for a mandate; sign with another");
  const missing = listMissingSignatures([...signers, approver], mandate.bounds, intent);
  if (countMissing(missing) === countMissing(listMissingSignatures(signers, mandate.bounds, intent)))
    throw new AppError("not_an_approver", `no rule asks for a signature of ${approver} any more`);
  return { missing, facts, note: input.note ?? "" };
}

const countMissing = (missing: readonly MissingConsent[]): number => missing.reduce((sum, { count }) => sum + count, 0);
