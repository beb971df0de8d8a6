/** Freezes the service and lifts that: two acts on the service itself, in the log like any other. */
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import { type ActInput, actFacts } from "./act.ts";
import type { ChangesDeps } from "./deps.ts";
import { freezeIn } from "./latest_told.ts";
import { type Freeze, freezeSchema } from "./rules/freeze.ts";
import { inForce } from "./rules/in_force.ts";
import { type Hold, holdsAt } from "./rules/hold.ts";
import { governed, type Transaction } from "./transaction.ts";

declare module "../store/store.ts" {
  interface Meta {
    freeze: Freeze;
  }
}

/** Who freezes the service, why, and until when. */
export interface FreezeInput extends ActInput {
  until?: string | undefined;
}

/** The last freeze as the log tells it, whatever is kept of it; of one from before all that was read, its place alone is. */
export async function lastFreeze({ tx, evidence, outlined }: Transaction): Promise<Freeze | undefined> {
  const told = await evidence.lastOf("service_frozen", "service_unfrozen");
  const kept = (await tx.get("meta", "freeze"))?.value;
  // One from before all that was read is looked up.
  const last = told ?? (kept && kept.entry <= outlined() ? await evidence.entry(kept.entry) : undefined);
  return last?.event_type === "service_frozen" ? freezeIn(last) : undefined;
}

/** Freezes the service, or tells a freeze that is in force anew. */
export function freezeService(call: Call<ChangesDeps>, input: FreezeInput): Promise<Answer> {
  const { note = "", until } = input;
  const decide = async (transaction: Transaction) => {
    const { tx, at, now, append } = transaction;
    const told = await actFacts(transaction, call, "freeze", input);
    if (until !== undefined && Date.parse(until) <= now) throw invalidField("until", "must be in the future");
    const standing = inForce(await lastFreeze(transaction), now);
    if (standing && until !== undefined && (standing.until === null || Date.parse(until) < Date.parse(standing.until)))
      throw invalidField("until", `must not be before the end of the freeze in force; unfreeze the service first`);
    const freeze = { actor: told.actor, note, until: until ?? null, at };
    const entry = append({ event_type: "service_frozen", detail: { ...told, until: freeze.until } });
    tx.put("meta", "freeze", { ...freeze, entry: entry.value.id });
    return answer({ frozen: true, freeze, audit_entry: entry });
  };
  return governed(call, decide, { anyClock: true });
}

/** Lifts a freeze; 400 `illegal_transition` where none is in force. */
export function unfreezeService(call: Call<ChangesDeps>, input: FreezeInput): Promise<Answer> {
  return governed(call, async (transaction) => {
    const { tx, now, append } = transaction;
    const detail = await actFacts(transaction, call, "unfreeze", input);
    if (!inForce(await lastFreeze(transaction), now))
      throw new AppError("illegal_transition", "the service is not frozen", { allowed: ["freeze"] });
    const entry = append({ event_type: "service_unfrozen", detail });
    tx.delete("meta", "freeze");
    return answer({ frozen: false, freeze: null, audit_entry: entry });
  });
}

/** What holds every apply back now. */
export async function heldNow({ store, product, clock }: ChangesDeps): Promise<Hold[]> {
  const freeze = (await store.get("meta", "freeze"))?.value;
  return holdsAt(product!.intent.policy, freeze, clock.now());
}

/** The freeze in force, as it is shown. */
export async function shownFreeze({ store, clock }: Pick<ChangesDeps, "store" | "clock">) {
  const freeze = inForce((await store.get("meta", "freeze"))?.value, clock.now());
  return freeze ? freezeSchema().parse(freeze) : null;
}
