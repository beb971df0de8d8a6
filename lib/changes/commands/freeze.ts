/** Freezes and unfreezes the service. */
import { AppError, invalidField } from "../../kit/errors.ts";
import { type ServiceActionInput, authorizeServiceAction } from "../service_action.ts";
import type { Caller } from "../caller.ts";
import { findLastFreeze } from "../freeze.ts";
import type { Receipt, ReplayedReply } from "../replies.ts";
import type { Freeze } from "../rules/freeze.ts";
import { findActiveFreeze } from "../rules/current_state.ts";
import type { Prefetch } from "../../store/store.ts";
import { runTransaction, type Transaction } from "../transaction.ts";

/** Who freezes or unfreezes the service, and the reason; `until`: the end of a freeze. */
export interface FreezeInput extends ServiceActionInput {
  until?: string | undefined;
}

/** The freeze in force after the command; null after it was lifted. */
export interface FreezeResult extends Receipt {
  freeze: Omit<Freeze, "entry"> | null;
}

const prefetchFreeze: Prefetch = (reads) => reads.get("meta", "freeze");

/** Freezes the service, or extends a freeze that is in force. */
export function freezeService(caller: Caller, input: FreezeInput): Promise<FreezeResult | ReplayedReply> {
  const { note = "", until } = input;
  const recordFreeze = async (transaction: Transaction) => {
    const { tx, at, now, append } = transaction;
    const facts = await authorizeServiceAction(transaction, caller, "freeze", input);
    if (until !== undefined && Date.parse(until) <= now) throw invalidField("until", "must be in the future");
    const current = findActiveFreeze(await findLastFreeze(transaction), now);
    if (current && until !== undefined && (current.until === null || Date.parse(until) < Date.parse(current.until)))
      throw invalidField("until", "must not be before the end of the freeze in force; unfreeze the service first");
    const freeze = { actor: facts.actor, note, until: until ?? null, at };
    const entry = append({ event_type: "service_frozen", detail: { ...facts, until: freeze.until } });
    tx.put("meta", "freeze", { ...freeze, entry: entry.value.id });
    return { freeze, entry };
  };
  // A freeze only stops something, so a clock that is behind must not prevent it.
  return runTransaction(caller, recordFreeze, { ignoresClockLag: true, prefetch: prefetchFreeze });
}

/** Lifts a freeze. Errors: 400 `illegal_transition` if the service is not frozen. */
export function unfreezeService(caller: Caller, input: FreezeInput): Promise<FreezeResult | ReplayedReply> {
  const recordUnfreeze = async (transaction: Transaction) => {
    const { tx, now, append } = transaction;
    const detail = await authorizeServiceAction(transaction, caller, "unfreeze", input);
    if (!findActiveFreeze(await findLastFreeze(transaction), now))
      throw new AppError("illegal_transition", "the service is not frozen", { allowed: ["freeze"] });
    const entry = append({ event_type: "service_unfrozen", detail });
    tx.delete("meta", "freeze");
    return { freeze: null, entry };
  };
  return runTransaction(caller, recordUnfreeze, { prefetch: prefetchFreeze });
}
