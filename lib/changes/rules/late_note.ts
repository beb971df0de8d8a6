/** A late note: what should have been said of a change when it was decided, said afterwards, and marked so. */
import { AppError } from "../../kit/errors.ts";
import type { Change, LateItem } from "./change.ts";
import type { Intent } from "./intent.ts";
import { isDecided, listLateItems, isItemStated } from "./late_items.ts";
import { listAllowedActions } from "./transitions.ts";

/** Returns the event of a late note. Errors: 400 `illegal_transition` while it is open, or where that is on record. */
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
