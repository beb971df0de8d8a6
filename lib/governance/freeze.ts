/** Freezes the service and lifts that: two acts on the service itself, in the log like any other. */
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { GovernanceDeps } from "./deps.ts";
import { type Freeze, freezeSchema, inForce } from "./rules/freeze.ts";
import { type Hold, holdsAt } from "./rules/hold.ts";
import { governed } from "./transaction.ts";

declare module "../store/store.ts" {
  interface Meta {
    freeze: Freeze;
  }
}

/** Who acts on the service, and why. */
export interface FreezeInput {
  actor?: string | undefined;
  note?: string | undefined;
  until?: string | undefined;
}

/** Freezes the service, or tells a freeze that is in force anew. */
export function freezeService(call: Call<GovernanceDeps>, { actor, note = "", until }: FreezeInput): Promise<Answer> {
  return governed(call, async ({ tx, at, now, product, append }) => {
    const by = namedActor(call, actor);
    if (until !== undefined && Date.parse(until) <= now) throw invalidField("until", "must be in the future");
    const standing = inForce((await tx.get("meta", "freeze"))?.value, now);
    if (standing && until !== undefined && (standing.until === null || Date.parse(until) < Date.parse(standing.until)))
      throw invalidField("until", `must not be before the end of the freeze in force; unfreeze the service first`);
    const freeze = { actor: by.actor, note, until: until ?? null, at };
    const { manifest_hash } = product;
    const detail = { ...by, note, until: freeze.until, manifest_hash };
    const entry = append({ event_type: "service_frozen", detail });
    tx.put("meta", "freeze", { ...freeze, entry: entry.value.id });
    return answer({ frozen: true, freeze, audit_entry: entry });
  });
}

/** Lifts a freeze; 400 `illegal_transition` where none is in force. */
export function unfreezeService(call: Call<GovernanceDeps>, { actor, note = "" }: FreezeInput): Promise<Answer> {
  return governed(call, async ({ tx, now, product, append }) => {
    const by = namedActor(call, actor);
    if (!inForce((await tx.get("meta", "freeze"))?.value, now))
      throw new AppError("illegal_transition", "the service is not frozen", { allowed: ["freeze"] });
    const { manifest_hash } = product;
    const entry = append({ event_type: "service_unfrozen", detail: { ...by, note, manifest_hash } });
    tx.delete("meta", "freeze");
    return answer({ frozen: false, freeze: null, audit_entry: entry });
  });
}

/** A freeze has a name under it: the one given, or the one that the proxy gives. */
function namedActor(call: Call<GovernanceDeps>, stated: string | undefined) {
  requirePerson(call, "actor", stated);
  const { actor, authenticated } = actorOf(call, stated);
  if (actor === null) throw invalidField("actor", "is required");
  return { actor, authenticated };
}

/** What holds every apply back now. */
export async function heldNow({ store, product, clock }: GovernanceDeps): Promise<Hold[]> {
  const freeze = (await store.get("meta", "freeze"))?.value;
  return holdsAt(product!.intent.policy, freeze, clock.now());
}

/** The freeze in force, as it is shown. */
export async function shownFreeze({ store, clock }: Pick<GovernanceDeps, "store" | "clock">) {
  const freeze = inForce((await store.get("meta", "freeze"))?.value, clock.now());
  return freeze ? freezeSchema.parse(freeze) : null;
}
