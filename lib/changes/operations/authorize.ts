/** Authorizes an operation: the actor, their permission, and their signature. */
import { AppError, invalidField } from "../../kit/errors.ts";
import { type Caller, findActor } from "../caller.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import type { OperationRequest, SignedRequest } from "../records.ts";
import { requireAutomation } from "../rules/apply_when.ts";
import type { Actor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { requirePermission } from "../rules/permissions.ts";
import { requireSignature } from "../rules/require_signature.ts";
import type { Transaction } from "../transaction.ts";

/** The fields of a request that decide whether its caller may run the operation. */
interface RequestedOperation extends Pick<OperationRequest, "operation" | "note" | "over_drift">, ProofInput {
  actor?: string | undefined;
  dry_run?: boolean | undefined;
}

/**
 * Returns the actor and the facts of the signature for the entry. The service itself may roll back, and apply what applies by
 * itself. Errors: 403 `not_permitted`, 400 `invalid_field`, 403 `proof_required`, `proof_invalid`.
 */
export async function authorizeOperation(
  transaction: Transaction,
  caller: Caller,
  change: Change,
  { operation, note = "", over_drift, proof, at, dry_run, ...stated }: RequestedOperation,
): Promise<Actor & { signed?: SignedRequest }> {
  const claimed = findActor(caller, stated.actor);
  const { intent, manifest_hash } = transaction.product;
  if (!caller.identity) {
    if (operation === "apply") requireAutomation(change, intent.policy);
    return claimed;
  }
  requirePermission(operation, claimed, intent);
  const { actor } = claimed;
  if (actor === null && (proof ?? at) !== undefined) throw invalidField("actor", "is required with proof");
  if (actor === null && over_drift && intent.policy.signing.signedOnly)
    throw new AppError(
      "proof_required",
      "only signed decisions count, and a rollback with over_drift is one: send actor, proof and at; POST /api/product/consent-statement says what to sign",
    );
  if (actor === null) return claimed;
  const { change_id, digest } = change;
  const statement = {
    decision: operation,
    change_id,
    digest,
    approver: actor,
    note,
    ...(over_drift && { over_drift }),
  };
  const signature = await verifyPresentedProof(transaction, statement, { proof, at }, dry_run);
  const authorized = resolveActor(actor, signature, claimed);
  const facts = requireSignature({ type: operation, name: actor, signature, over_drift }, intent.policy, authorized);
  return signature ? { ...authorized, signed: { manifest_hash, facts } } : authorized;
}
