/** Acts on the service itself: their actor, and how that is known. */
import { invalidField } from "../kit/errors.ts";
import { findActor, type Caller, requirePerson } from "./caller.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import type { Actor } from "./rules/actor.ts";
import { type Action, requirePermission } from "./rules/permissions.ts";
import { signatureFacts } from "./rules/require_signature.ts";
import type { Act } from "./rules/act_statement.ts";
import type { Transaction } from "./transaction.ts";

/** The actor, the reason and the signature of an act. */
export interface ActInput extends ProofInput {
  actor?: string | undefined;
  note?: string | undefined;
  /** Of a freeze. */
  until?: string | undefined;
  /** The log's end as it is now, in an accepted loss. */
  length?: number | undefined;
  head?: string | undefined;
}

/**
 * Returns the actor by the stated name or the one that the proxy names; an act needs a name. Errors: 403
 * `identity_mismatch`, 403 `not_permitted`, 400 `invalid_field`.
 */
export function namedActor(caller: Caller, action: Action, actor: string | undefined): Actor & { actor: string } {
  requirePerson(caller, "actor", actor);
  const claimed = findActor(caller, actor);
  requirePermission(action, claimed.actor, caller.deps.product!.intent);
  if (claimed.actor === null) throw invalidField("actor", "is required");
  return { ...claimed, actor: claimed.actor };
}

/** Returns the facts of an act for its entry: the actor, and the key of the signature. */
export async function actFacts(transaction: Transaction, caller: Caller, act: Act, input: ActInput) {
  const { note = "", until, length, head, proof, at } = input;
  const claimed = namedActor(caller, act, input.actor);
  const { actor } = claimed;
  const { manifest_hash, intent } = transaction.product;
  const signature = await present(transaction, { decision: act, actor, note, until, length, head }, { proof, at });
  const by = actorBehind(actor, signature, claimed);
  return {
    actor,
    authenticated: by.authenticated,
    note,
    manifest_hash,
    ...signatureFacts({ type: act, name: actor, signature }, intent.policy, by),
  };
}
