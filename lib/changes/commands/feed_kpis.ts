/** Records values of KPIs. */
import { invalidField } from "../../kit/errors.ts";
import { verifyActorSignature } from "../service_action.ts";
import { findActor, type Caller, requirePerson } from "../caller.ts";
import { judgeGuardrails } from "../guardrail.ts";
import { suspendAfterFeed } from "../mandates/suspend.ts";
import type { ProofInput } from "../proof_input.ts";
import type { Receipt, ReplayedReply } from "../replies.ts";
import type { Actor } from "../rules/actor.ts";
import { computeEffect } from "../rules/effect.ts";
import { addFeedValues, NO_KPIS } from "../rules/kpi.ts";
import { requirePermission } from "../rules/permissions.ts";
import { runTransaction, type Transaction } from "../transaction.ts";

/** Values of KPIs and their source. */
export interface KpiFeed extends ProofInput {
  values: Record<string, number>;
  actor?: string | undefined;
  note?: string | undefined;
}

/** Recorded values; `refreshed`: one of them counts in the effect E. */
export interface KpiResult extends Receipt {
  refreshed: boolean;
  E: number | null;
  accepted: Record<string, number>;
  at: string;
}

/**
 * Authorizes a feed of KPIs; returns its actor, with the facts of the signature if there is one. Errors: 403 `not_permitted`, 400
 * `invalid_field`, those of a signature.
 */
async function authorizeFeeder(
  transaction: Transaction,
  caller: Caller,
  kpis: KpiFeed["values"],
  input: Omit<KpiFeed, "values">,
): Promise<Actor> {
  const claimed = findActor(caller, input.actor);
  requirePermission("feed_kpis", claimed, transaction.product.intent);
  const { actor } = claimed;
  if (actor !== null)
    return verifyActorSignature(transaction, { ...claimed, actor }, { decision: "feed_kpis", kpis }, input);
  if ((input.proof ?? input.at) !== undefined) throw invalidField("actor", "is required with proof");
  return claimed;
}

/** Records KPIs in one entry, and requests a cycle without waiting for it. */
export async function feedKpis(caller: Caller, { values: fed, ...input }: KpiFeed): Promise<KpiResult | ReplayedReply> {
  const { deps, identity } = caller;
  // A program without a name from the proxy may state its own.
  const namedIdentity = identity && { ...identity, person: identity.person || undefined };
  const result = await runTransaction(caller, async (transaction) => {
    requirePerson({ deps, identity: namedIdentity }, "actor", input.actor);
    const feeder = await authorizeFeeder(transaction, caller, fed, input);
    const { tx, at, product, append } = transaction;
    const before = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
    // The values and the guardrails' trips name their entry by `nextEntryId`, so nothing is appended before it.
    const after = addFeedValues(before, fed, at, transaction.nextEntryId());
    const { value: E, parts } = computeEffect(after, product.intent, Date.parse(at));
    const refreshed = parts.some(({ kpi, attainment }) => Object.hasOwn(fed, kpi) && attainment !== null);
    tx.put("kpi", "latest", after);
    const tripped = await judgeGuardrails(transaction, fed);
    const { manifest_hash } = product;
    const facts = {
      ...(tripped.length > 0 ? { tripped } : {}),
      manifest_hash,
      ...feeder,
      ...(input.note && { note: input.note }),
    };
    const entry = append({ event_type: "kpi_refreshed", detail: { values: fed, E, refreshed, ...facts } });
    await suspendAfterFeed(transaction, fed);
    return { refreshed, E, accepted: fed, at, entry };
  });
  deps.wake?.();
  return result;
}
