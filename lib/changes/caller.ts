/** Who asks, and how that is known. */
import { carriesToken } from "../http/guards.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { type Actor, serviceItself } from "./rules/actor.ts";
import { sameName } from "./rules/names.ts";
import { isAgent } from "./rules/principals.ts";

/** A request, or the service itself in a cycle. */
export type Caller = Pick<Call<ChangesDeps>, "deps"> &
  Partial<Pick<Call<ChangesDeps>, "request" | "person" | "agent" | "idempotency">>;

/** The actor behind a request; `stated` is the name that it gives itself. Without a request it is the service. */
export function actorOf({ deps, request, person, agent }: Caller, stated?: string): Actor {
  if (!request) return serviceItself(stated);
  if (agent !== undefined) return { actor: agent, authenticated: "agent" };
  if (person) return { actor: person, authenticated: "proxy" };
  const actor = stated ?? null;
  if (deps.adminToken && carriesToken(request, deps)) return { actor, authenticated: "token" };
  return { actor, authenticated: actor === null ? null : "claimed" };
}

/**
 * 403 `identity_mismatch` when the host or its proxy names somebody else than the request does, and for an agent's name
 * without its secret, once the intent says who is who.
 */
export function requirePerson({ person, agent, deps }: Caller, field: string, name: string | undefined): void {
  const known = agent ?? person;
  if (known !== undefined && name !== undefined && sameName(known) !== sameName(name)) {
    const where = deps.identityHeader ? `the person named in ${deps.identityHeader}` : "the person who is logged in";
    const own = agent === undefined ? where : `${agent}, whose secret this request carries`;
    throw new AppError("identity_mismatch", `${field} must be ${own}`, { field });
  }
  const { principals = {} } = deps.product?.intent ?? {};
  const used = name ?? person;
  if (agent !== undefined || used === undefined || Object.keys(principals).length === 0) return;
  if (isAgent(used, { principals }))
    throw new AppError("identity_mismatch", `${used} is an agent's name, and needs the agent's own secret`, { field });
}

/** The name of the caller: an agent's, the proxy's, or the one that the request states; null without any. 403 `identity_mismatch`. */
export function callerNamed(call: Caller, stated: string | undefined): string | null {
  requirePerson(call, "person", stated);
  return stated ?? ((call.agent ?? call.person) || null);
}
