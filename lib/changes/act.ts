/** Acts on the service itself: whose they are, and how that is known. */
import type { Call } from "../http/endpoint.ts";
import { invalidField } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { ChangesDeps } from "./deps.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import type { Actor } from "./rules/actor.ts";
import { type Action, requirePermission } from "./rules/permissions.ts";
import { signatureFacts } from "./rules/require_signature.ts";
import type { Act } from "./rules/statement.ts";
import type { Transaction } from "./transaction.ts";

/** Who acts on the service, and why. */
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
 * Who acts, by the name given or the one that the proxy gives: an act has a name under it. Errors: 403 `identity_mismatch`,
 * 403 `not_permitted`, 400 `invalid_field`.
 */
export function namedActor(
  call: Call<ChangesDeps>,
  action: Action,
  actor: string | undefined,
): Actor & { actor: string } {
  requirePerson(call, "actor", actor);
  const claimed = actorOf(call, actor);
  requirePermission(action, claimed.actor, call.deps.product!.intent);
  if (claimed.actor === null) throw invalidField("actor", "is required");
  return { ...claimed, actor: claimed.actor };
}

/** What the entry says of an act: whose it is, and with which key they signed it. */
export async function actFacts(transaction: Transaction, call: Call<ChangesDeps>, act: Act, input: ActInput) {
  const { note = "", until, length, head, proof, at } = input;
  const claimed = namedActor(call, act, input.actor);
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
