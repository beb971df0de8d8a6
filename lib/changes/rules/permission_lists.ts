/** Lists of who may do what apart from deciding on a change, as an intent states them. */
import * as z from "zod";
import type { ServiceAction } from "./service_action.ts";
import { list, object } from "./fields.ts";
import { applierOrGroup, approverOrGroup } from "./intent_parts.ts";

/** An action under a name that an intent may reserve. */
export type PermissionAction = ServiceAction | "note" | "apply" | "rollback" | "restore";

const names = (who: string, name = approverOrGroup) =>
  list(name()).min(1, "must name somebody, or be left out").optional().describe(who);

/** Lists of names by action. */
export const permissionsSchema = () =>
  object({
    apply: names(
      "Who may apply, and policy:apply_when for changes that apply by themselves; absent: any authorised caller.",
      applierOrGroup,
    ),
    rollback: names("Who may roll back, apart from emergency approvers; absent: any authorised caller."),
    freeze: names("Who may freeze, apart from emergency approvers; absent: any authorised caller."),
    unfreeze: names("Who may lift a freeze; absent: approvers and emergency approvers."),
    restore: names("Who may restore a value that was set elsewhere; absent: any authorised caller."),
    feed_kpis: names("Who may feed KPIs; absent: any authorised caller."),
    erase: names("Who may erase a content; absent: approvers and emergency approvers."),
    accept_clock: names("Who may accept a clock; absent: approvers and emergency approvers."),
    notes: names("Who may add late notes; absent: any authorised caller."),
  });

/** The rules that list names by action. */
interface Rules {
  permissions: z.output<ReturnType<typeof permissionsSchema>>;
}

type Listed = keyof z.output<ReturnType<typeof permissionsSchema>>;

/** Actions whose list has another name. */
const LISTED_AS: { readonly [action in PermissionAction]?: Listed } = { note: "notes", accept_loss: "accept_clock" };

/** Returns the list of an action; undefined where the intent has none. */
export const findListedNames = (action: PermissionAction, { permissions }: Rules): string[] | undefined =>
  permissions[LISTED_AS[action] ?? (action as Listed)];

/** Returns true where the intent lists who may do this. */
export const isListed = (action: PermissionAction, policy: Rules): boolean =>
  findListedNames(action, policy) !== undefined;
