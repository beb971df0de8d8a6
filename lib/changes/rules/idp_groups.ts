/** Groups of the identity provider. They restrict what a person may do, and grant nothing. */
import { AppError } from "../../kit/errors.ts";
import type { Actor } from "./actor.ts";
import { findPrincipal, type Principals } from "./principals.ts";

declare module "./event.ts" {
  interface EventDetail {
    /** Groups of the identity provider that the intent requires of the actor. */
    idp?: string[];
  }
}

interface IntentPrincipals {
  principals: Principals;
}

/** Returns the groups that a person's token must name for a decision to count; empty if none are required. */
export function listRequiredGroups(name: string, intent: IntentPrincipals): readonly string[] {
  const principal = findPrincipal(name, intent);
  return (principal?.kind === "person" && principal.idp) || [];
}

/** Returns true if the recorded groups include all that the intent requires of a person. */
export const hasGroups = (name: string, recorded: readonly string[] | undefined, intent: IntentPrincipals): boolean =>
  listRequiredGroups(name, intent).every((group) => recorded?.includes(group) === true);

/** Returns the groups for an entry: those that the intent requires, if the token names them all. */
export function createGroupFacts(
  name: string,
  groups: readonly string[] | undefined,
  intent: IntentPrincipals,
): { idp?: readonly string[] } {
  const required = listRequiredGroups(name, intent);
  return required.length > 0 && hasGroups(name, groups, intent) ? { idp: required } : {};
}

/** Requires that a person's token names the groups that the intent requires. Errors: 403 with `code`. */
export function requireGroups(
  name: string,
  { idp }: Pick<Actor, "idp">,
  intent: IntentPrincipals,
  code: "not_an_approver" | "not_permitted" = "not_an_approver",
): void {
  if (hasGroups(name, idp, intent)) return;
  const groups = listRequiredGroups(name, intent).join(", ");
  throw new AppError(
    code,
    `what ${name} decides counts only with a token of the identity provider that names ${groups}; this request has none`,
  );
}
