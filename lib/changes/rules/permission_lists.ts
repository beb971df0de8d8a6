/** `policy.permissions`: lists of names by action. Decisions on changes have rules of their own. */
import * as z from "zod";
import type { ServiceAction } from "./service_action.ts";
import { list, strictObject } from "./fields.ts";
import { applierOrGroup, approverOrGroup } from "./intent_parts.ts";

/** An action that an intent may reserve for listed names. */
export type PermissionAction = ServiceAction | "note" | "apply" | "rollback" | "restore";

const nameList = (description: string, name = approverOrGroup) =>
  list(name()).min(1, "must name somebody, or be left out").optional().describe(description);

/** Lists of names by action. */
export const permissionsSchema = () =>
  strictObject({
    apply: nameList(
      "Who may apply, and policy:apply_when for changes that apply by themselves; absent: any authorised caller.",
      applierOrGroup,
    ),
    rollback: nameList("Who may roll back, apart from emergency approvers; absent: any authorised caller."),
    freeze: nameList("Who may freeze, apart from emergency approvers; absent: any authorised caller."),
    unfreeze: nameList("Who may lift a freeze; absent: approvers and emergency approvers."),
    restore: nameList("Who may restore a value that was set elsewhere; absent: any authorised caller."),
    feed_kpis: nameList("Who may feed KPIs; absent: any authorised caller."),
    erase: nameList("Who may erase a content; absent: approvers and emergency approvers."),
    accept_clock: nameList("Who may accept a clock; absent: approvers and emergency approvers."),
    notes: nameList("Who may add late notes; absent: any authorised caller."),
  });

/** The part of a policy that lists names by action. */
interface PermissionRules {
  permissions: z.output<ReturnType<typeof permissionsSchema>>;
}

type PermissionField = keyof z.output<ReturnType<typeof permissionsSchema>>;

/** Fields of actions whose list has another name; the list for accepting a clock is also the one for accepting a loss. */
const FIELD_BY_ACTION: { readonly [action in PermissionAction]?: PermissionField } = {
  note: "notes",
  accept_loss: "accept_clock",
};

/** Returns the list of an action; undefined if the intent has none. */
export const findListedNames = (action: PermissionAction, { permissions }: PermissionRules): string[] | undefined =>
  permissions[FIELD_BY_ACTION[action] ?? (action as PermissionField)];

/** Returns true if the intent lists who may take an action. */
export const isListed = (action: PermissionAction, policy: PermissionRules): boolean =>
  findListedNames(action, policy) !== undefined;
