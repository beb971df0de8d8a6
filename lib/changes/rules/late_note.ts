/** A late note: a rationale or note that was missing when the change was decided, added afterwards. */
import { AppError } from "../../kit/errors.ts";
import type { Change, LateItem } from "./change.ts";
import type { Intent } from "./intent.ts";
import { isDecided, listLateItems, isItemStated } from "./late_items.ts";
import { listAllowedActions } from "./transitions.ts";

/**
 * Returns the facts of a late note. Errors: 400 `illegal_transition` for an open change, or if the item is on record already.
 */
export function makeLateNote(change: Change, { item, note }: { item: LateItem; note: string }, intent: Intent): object {
  const { change_id, status } = change;
  const createRejection = (reason: string) =>
    new AppError("illegal_transition", `cannot add a late ${item} to ${change_id}: ${reason}`, {
      change_id,
      current_status: status,
      allowed: listAllowedActions(change, intent),
    });
  if (!isDecided(change)) throw createRejection(`it is ${status}, and what is decided on stays as it was proposed`);
  if (listLateItems(change).includes(item)) throw createRejection("one was added already, and what is on record stays");
  if (isItemStated(change, item)) throw createRejection("it has one");
  return { status, item, note, late: true };
}
