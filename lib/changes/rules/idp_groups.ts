/** Groups of the identity provider: they narrow what a person may do, and grant nothing. */
import { AppError } from "../../kit/errors.ts";
import type { Actor } from "./actor.ts";
import { findPrincipal, type Principals } from "./principals.ts";

declare module "./event.ts" {
  interface EventDetail {
    /** Groups of the identity provider that the intent asked of the actor. */
    idp?: string[];
  }
}

interface IntentPrincipals {
  principals: Principals;
}

/** Returns the groups that a token must name for what a person decides to count; empty for a person who needs none. */
export function listRequiredGroups(name: string, intent: IntentPrincipals): readonly string[] {
  const principal = findPrincipal(name, intent);
  return (principal?.kind === "person" && principal.idp) || [];
}

/** Returns true where the groups on record are all that the intent asks of a person. */
export const hasGroups = (name: string, recorded: readonly string[] | undefined, intent: IntentPrincipals): boolean =>
  listRequiredGroups(name, intent).every((group) => recorded?.includes(group) === true);

/** Returns what an entry records of a person's groups: those that the intent asks for, where a token names them all. */
export function groupFacts(
  name: string,
  groups: readonly string[] | undefined,
  intent: IntentPrincipals,
): { idp?: readonly string[] } {
  const required = listRequiredGroups(name, intent);
  return required.length > 0 && hasGroups(name, groups, intent) ? { idp: required } : {};
}

/** Requires that the token of a person names the groups that the intent asks for. Errors: 403 with `code`. */
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
