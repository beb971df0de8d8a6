/** Who asks, and how that is known. */
import { carriesToken } from "../http/guards.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import type { GovernanceDeps } from "./deps.ts";
import { type Actor, serviceItself } from "./rules/actor.ts";
import { sameName } from "./rules/names.ts";

/** A request, or the service itself in a cycle. */
export type Caller = Pick<Call<GovernanceDeps>, "deps"> &
  Partial<Pick<Call<GovernanceDeps>, "request" | "person" | "idempotency">>;

/** The actor behind a request; `stated` is the name that it gives itself. Without a request it is the service. */
export function actorOf({ deps, request, person }: Caller, stated?: string): Actor {
  if (!request) return serviceItself(stated);
  const named = person?.normalize("NFKC").trim();
  if (named) return { actor: named, authenticated: "proxy" };
  const actor = stated ?? null;
  if (deps.adminToken && carriesToken(request, deps)) return { actor, authenticated: "token" };
  return { actor, authenticated: actor === null ? null : "claimed" };
}

/** 403 `identity_mismatch` when the host or its proxy names somebody else than the request does. */
export function requirePerson(
  { person, deps }: Partial<Pick<Call, "person">> & Pick<Call, "deps">,
  field: string,
  name: string | undefined,
): void {
  if (person === undefined || name === undefined || sameName(person) === sameName(name)) return;
  const where = deps.identityHeader ? `named in ${deps.identityHeader}` : "who is logged in";
  throw new AppError("identity_mismatch", `${field} must be the person ${where}`, { field });
}
