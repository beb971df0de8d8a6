/** Authorizes actions on the service itself, such as a freeze: the actor, the permission and the signature. */
import { invalidField } from "../kit/errors.ts";
import { findActor, type Caller, requirePerson } from "./caller.ts";
import { resolveActor, verifyPresentedProof, type ProofInput, type StatedFacts } from "./proof_input.ts";
import type { Actor } from "./rules/actor.ts";
import type { PermissionAction } from "./rules/permission_lists.ts";
import { requirePermission } from "./rules/permissions.ts";
import { requireSignature } from "./rules/require_signature.ts";
import type { ServiceAction, ServiceActionFacts } from "./rules/service_action.ts";
import type { Transaction } from "./transaction.ts";

/** The actor, the reason and the signature of an action. */
export interface ServiceActionInput extends ProofInput {
  actor?: string | undefined;
  note?: string | undefined;
  /** End of a freeze that ends by itself. */
  until?: string | undefined;
  /** Length and head of the log as it is now, in an accepted loss. */
  length?: number | undefined;
  head?: string | undefined;
}

/** The facts of an action that its statement has, except actor and note. */
type ServiceActionStatement = Omit<StatedFacts<ServiceActionFacts>, "actor" | "note">;

/**
 * Returns the actor that the request states or the proxy names; an action needs one. Errors: 403 `identity_mismatch`,
 * `not_permitted`, 400 `invalid_field`.
 */
export function requireNamedActor(
  caller: Caller,
  action: PermissionAction,
  actor: string | undefined,
): Actor & { actor: string } {
  requirePerson(caller, "actor", actor);
  const claimed = findActor(caller, actor);
  requirePermission(action, claimed, caller.deps.product!.intent);
  if (claimed.actor === null) throw invalidField("actor", "is required");
  return { ...claimed, actor: claimed.actor };
}

/** Authorizes an action and returns the facts for its entry: the actor, the note and the key of the signature. */
export async function authorizeServiceAction(
  transaction: Transaction,
  caller: Caller,
  action: ServiceAction,
  input: ServiceActionInput,
) {
  const { note = "", until, length, head } = input;
  const claimed = requireNamedActor(caller, action, input.actor);
  const statement = { decision: action, until, length, head };
  const actorFacts = await verifyActorSignature(transaction, claimed, statement, input);
  return { ...actorFacts, note, manifest_hash: transaction.product.manifest_hash };
}

/**
 * Verifies the signature of an action and returns actor and key for its entry. Errors: 400 `invalid_field`, those of a signature.
 */
export async function verifyActorSignature(
  transaction: Transaction,
  claimed: Actor & { actor: string },
  action: ServiceActionStatement,
  { note = "", proof, at }: ServiceActionInput,
) {
  const { actor } = claimed;
  const signature = await verifyPresentedProof(transaction, { ...action, actor, note }, { proof, at });
  const signer = resolveActor(actor, signature, claimed);
  const { policy } = transaction.product.intent;
  return {
    actor,
    authenticated: signer.authenticated,
    ...(signer.idp && { idp: signer.idp }),
    ...requireSignature({ type: action.decision, name: actor, signature }, policy, signer),
  };
}
