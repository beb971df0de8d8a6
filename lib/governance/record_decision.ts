/** Carries a consent decision through one governed transaction. */
import { type Answer, answer, etag } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import { AppError } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { GovernanceDeps } from "./deps.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import { asProven } from "./proven_consents.ts";
import { ownerOf } from "./records.ts";
import { readLease, requireIdle } from "./operation/lease.ts";
import { POLICY_EXPIRY, serviceItself } from "./rules/actor.ts";
import { overdueStep } from "./rules/policy.ts";
import type { Verdict } from "./rules/change.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { allowedActions } from "./rules/transitions.ts";
import { governed, type Transaction } from "./transaction.ts";

/** A decision on one change, and whose it is. */
export interface DecisionInput extends ProofInput {
  type: "approve" | "deny" | "withdraw" | "revoke";
  change_id: string;
  name: string;
  note?: string | undefined;
  /** A consent for an emergency. */
  emergency?: boolean | undefined;
}

/** Each expiry is three writes: within what a transaction may hold. */
const SLICE = 15;

/** Records a decision and answers with it and its entry. */
export function recordDecision(
  call: Call<GovernanceDeps>,
  { type, change_id, name, note = "", emergency, proof, at }: DecisionInput,
): Promise<Answer> {
  return governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    const expired = await expireIfDue(transaction, before);
    if (expired) return expired;
    if (type === "revoke") await requireIdle(transaction, change_id);
    const { digest } = before.change;
    const decision = emergency ? ("approve_emergency" as const) : type;
    const decided = { decision, change_id, digest, approver: name, note };
    const signature = await present(transaction, decided, { proof, at });
    const command =
      type === "approve"
        ? { type, name, note, emergency, signature, target_owner: await ownerOf(transaction.tx, before.change) }
        : { type, name, note, signature };
    const actor = actorBehind(name, signature, actorOf(call, name));
    const judged = type === "approve" ? await asProven(transaction, before) : before.change;
    const { record, change, entry } = transaction.enact(before, command, actor, judged);
    requirePerson(call, type === "withdraw" ? "proposer" : "approver", name);
    requireMatch(call.request, before.change.revision);
    const { status, approvals, resolution, revision } = record.change;
    const body = { change_id, status, decision: resolution ?? "approved", approvals, change, audit_entry: entry };
    return answer(body, 200, { etag: etag(revision) });
  });
}

/** What was found of an emergency consent afterwards, and by whom. */
export interface ReviewInput extends ProofInput {
  change_id: string;
  approver: string;
  verdict: Verdict;
  note?: string | undefined;
}

/** Records what was found of an emergency consent afterwards. */
export function recordReview(
  call: Call<GovernanceDeps>,
  { change_id, approver, verdict, note = "", proof, at }: ReviewInput,
): Promise<Answer> {
  return governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    const { digest } = before.change;
    const decided = { decision: "review", change_id, digest, approver, note, verdict } as const;
    const signature = await present(transaction, decided, { proof, at });
    const command = { type: "review", name: approver, note, verdict, signature } as const;
    const actor = actorBehind(approver, signature, actorOf(call, approver));
    const { record, change, entry } = transaction.enact(before, command, actor);
    requirePerson(call, "approver", approver);
    requireMatch(call.request, before.change.revision);
    const { status, revision } = record.change;
    return answer({ change_id, status, verdict, change, audit_entry: entry }, 200, { etag: etag(revision) });
  });
}

/**
 * Denies a change whose time is over, and returns the refusal that a request for it meets. One that is being applied does not
 * lapse.
 */
export async function expireIfDue(transaction: Transaction, before: ChangeRecord): Promise<AppError | undefined> {
  const { policy } = transaction.product.intent;
  const type = overdueStep(before.change, policy, transaction.now);
  if (type === undefined || (type === "lapse" && (await readLease(transaction.tx, before.change.change_id))))
    return undefined;
  const { change } = transaction.enact(before, { type }, serviceItself(POLICY_EXPIRY)).record;
  const waited = type === "expire" ? "waited for consent" : "was approved and waited for its apply";
  return new AppError(
    "illegal_transition",
    `${change.change_id} ${waited} longer than the intent allows and is denied; propose it again`,
    {
      change_id: change.change_id,
      current_status: change.status,
      allowed: allowedActions(change, transaction.product.intent),
    },
  );
}

/** Denies those of these changes whose time is over, and returns how many; nothing is written when none is due. */
export async function expireDue(deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> {
  const { policy } = deps.product!.intent;
  if ((policy.consent_ttl_hours ?? policy.approval_ttl_hours) === undefined) return 0;
  let expired = 0;
  for (let start = 0; start < changeIds.length; start += SLICE) {
    const records = await deps.store.getMany("changes", changeIds.slice(start, start + SLICE));
    const due = records.flatMap((stored) =>
      stored && overdueStep(stored.value.change, policy, deps.clock.now()) ? [stored.id] : [],
    );
    if (due.length > 0) expired += await expireAll(deps, due);
  }
  return expired;
}

const expireAll = (deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> =>
  governed<number>({ deps }, async (transaction) => {
    let expired = 0;
    for (const changeId of changeIds) if (await expireIfDue(transaction, await transaction.change(changeId))) expired++;
    return expired;
  }) as Promise<number>;
