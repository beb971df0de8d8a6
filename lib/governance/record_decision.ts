/** Carries a consent decision through one governed transaction. */
import { type Answer, answer, etag } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import { AppError } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { GovernanceDeps } from "./deps.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import { ownerOf } from "./records.ts";
import { POLICY_EXPIRY, serviceItself } from "./rules/actor.ts";
import { isExpired } from "./rules/policy.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { allowedActions } from "./rules/state_machine.ts";
import { governed, type Transaction } from "./transaction.ts";

/** A decision on one change, and whose it is. */
export interface DecisionInput extends ProofInput {
  type: "approve" | "deny" | "withdraw";
  change_id: string;
  name: string;
  note?: string | undefined;
}

/** Each expiry is three writes: within what a transaction may hold. */
const SLICE = 15;

/** Records a decision and answers with it and its entry. */
export function recordDecision(
  call: Call<GovernanceDeps>,
  { type, change_id, name, note = "", proof, at }: DecisionInput,
): Promise<Answer> {
  return governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    const expired = expireIfDue(transaction, before);
    if (expired) return expired;
    const { digest } = before.change;
    const decided = { decision: type, change_id, digest, approver: name, note };
    const signature = await present(transaction, decided, { proof, at });
    const command =
      type === "approve"
        ? { type, name, note, signature, target_owner: await ownerOf(transaction.tx, before.change) }
        : { type, name, note, signature };
    const actor = actorBehind(name, signature, actorOf(call, name));
    const { record, change, entry } = transaction.enact(before, command, actor);
    requirePerson(call, type === "withdraw" ? "proposer" : "approver", name);
    requireMatch(call.request, before.change.revision);
    const { status, approvals, resolution, revision } = record.change;
    const decision = resolution ?? "approved";
    const body = { change_id, status, decision, approvals, change, audit_entry: entry };
    return answer(body, 200, { etag: etag(revision) });
  });
}

/** Denies a change whose time is over, and returns the refusal that a request for it meets. */
export function expireIfDue(transaction: Transaction, before: ChangeRecord): AppError | undefined {
  if (!isExpired(before.change, transaction.product.intent.policy, transaction.now)) return undefined;
  const { change } = transaction.enact(before, { type: "expire" }, serviceItself(POLICY_EXPIRY)).record;
  return new AppError(
    "illegal_transition",
    `${change.change_id} waited for consent longer than the intent allows and is denied; propose it again`,
    { change_id: change.change_id, current_status: change.status, allowed: allowedActions(change.status) },
  );
}

/** Denies those of these changes whose time is over, and returns how many; nothing is written when none is due. */
export async function expireDue(deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> {
  const { policy } = deps.product!.intent;
  if (policy.consent_ttl_hours === undefined) return 0;
  let expired = 0;
  for (let start = 0; start < changeIds.length; start += SLICE) {
    const records = await deps.store.getMany("changes", changeIds.slice(start, start + SLICE));
    const due = records.flatMap((stored) =>
      stored && isExpired(stored.value.change, policy, deps.clock.now()) ? [stored.id] : [],
    );
    if (due.length > 0) expired += await expireAll(deps, due);
  }
  return expired;
}

const expireAll = (deps: GovernanceDeps, changeIds: readonly string[]): Promise<number> =>
  governed<number>({ deps }, async (transaction) => {
    let expired = 0;
    for (const changeId of changeIds) if (expireIfDue(transaction, await transaction.change(changeId))) expired++;
    return expired;
  }) as Promise<number>;
