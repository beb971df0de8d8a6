/** Permissions: who may take actions other than decisions on a change. */
import { AppError } from "../../kit/errors.ts";
import { type Actor, isVerifiedActor } from "./actor.ts";
import { requireGroups } from "./idp_groups.ts";
import { POLICY_APPLY_WHEN } from "./approver_name.ts";
import { normalizeName } from "./names.ts";
import { type PermissionAction, isListed, findListedNames } from "./permission_lists.ts";
import type { Electorate } from "./policy.ts";
import { listKeys } from "./signing.ts";

/** Actions that end a freeze, accept a fault or remove content: without a list of their own, only approvers may take them. */
const APPROVER_ACTIONS: ReadonlySet<PermissionAction> = new Set(["unfreeze", "erase", "accept_clock", "accept_loss"]);

/** Actions that emergency approvers may always take. */
const EMERGENCY_ACTIONS: ReadonlySet<PermissionAction> = new Set(["freeze", "rollback"]);

/** Returns the names that may take an action; undefined: every authorised caller. */
export function listPermittedNames(action: PermissionAction, intent: Electorate): string[] | undefined {
  const { approvers, break_glass } = intent.policy;
  const emergency = break_glass?.approvers ?? [];
  const listed = findListedNames(action, intent.policy);
  if (listed) return [...new Set([...listed, ...(EMERGENCY_ACTIONS.has(action) ? emergency : [])])];
  return APPROVER_ACTIONS.has(action) && approvers ? [...new Set([...approvers, ...emergency])] : undefined;
}

/**
 * Requires that the intent permits an action to a caller. If the intent names principals, a name that `policy.permissions` lists
 * must be verified. A name with keys is accepted here, since the check of the signature requires it to sign. Errors: 403
 * `not_permitted`.
 */
export function requirePermission(action: PermissionAction, claimed: Actor, intent: Electorate): void {
  const permitted = listPermittedNames(action, intent);
  if (permitted === undefined) return;
  const { actor } = claimed;
  const isNamed = actor !== null && permitted.includes(normalizeName(actor));
  if (isNamed && (!isListed(action, intent.policy) || !isOnlyClaimed(claimed, intent)))
    return requireGroups(actor, claimed, intent, "not_permitted");
  const explanation = explainNotPermitted(actor, isNamed);
  throw new AppError("not_permitted", `${action} is for ${permitted.join(", ")}, and ${explanation}`, { action });
}

function explainNotPermitted(actor: string | null, isNamed: boolean): string {
  if (actor === null) return "the request names nobody: say who acts in actor (--actor)";
  return isNamed
    ? `nothing proves that this is ${actor}: sign with a key of principals (--key), or let the proxy name ${actor} (--identity-header)`
    : `${actor} is not one of them`;
}

/** Lists fields of `permissions` whose names all lack a key: they are verified only where a proxy or a token names people. */
export const listKeylessPermissions = ({ principals, policy }: Electorate): string[] =>
  Object.keys(principals).length === 0
    ? []
    : Object.entries(policy.permissions).flatMap(([field, names]) =>
        names?.every((name) => name !== POLICY_APPLY_WHEN && listKeys(name, policy.signing).length === 0)
          ? [field]
          : [],
      );

/** Returns true if the intent names principals, and neither the request nor a later signature proves the caller's name. */
const isOnlyClaimed = (claimed: Actor, { principals, policy }: Electorate): boolean =>
  Object.keys(principals).length > 0 &&
  !isVerifiedActor(claimed) &&
  listKeys(claimed.actor!, policy.signing).length === 0;
