/** Items (rationale, note) that can be added to a change after its decision. */
import type { Change, LateItem } from "./change.ts";

/** Returns true if the item was stated when the change was proposed or decided. */
export function isItemStated({ rationale, approval_note, approvals }: Change, item: LateItem): boolean {
  const texts = item === "rationale" ? [rationale] : [approval_note, ...approvals.map(({ note }) => note)];
  return texts.some((text) => text?.trim());
}

/** Returns true for a decided change for which the item was neither stated nor added late. */
export const isItemMissing = (change: Change, item: LateItem): boolean =>
  isDecided(change) && !listLateItems(change).includes(item) && !isItemStated(change, item);

/** Returns true for a change that is applied, rolled back or denied. */
export const isDecided = ({ status }: Pick<Change, "status">): boolean =>
  status === "applied" || status === "rolled_back" || status === "denied";

/** Lists the items that were added late. */
export const listLateItems = ({ late_notes = [] }: Pick<Change, "late_notes">): LateItem[] =>
  late_notes.map(({ item }) => item);
