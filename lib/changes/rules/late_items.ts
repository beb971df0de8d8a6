/** What was, and what can be, said late of a change. */
import type { Change, LateItem } from "./change.ts";

/** Whether it was said when the change was proposed or decided. */
export function wasSaid({ rationale, approval_note, approvals }: Change, item: LateItem): boolean {
  const said = item === "rationale" ? [rationale] : [approval_note, ...approvals.map(({ note }) => note)];
  return said.some((text) => text?.trim());
}

/** Whether an item can be said late of a change. */
export const isMissing = (change: Change, item: LateItem): boolean =>
  isDecided(change) && !lateItems(change).includes(item) && !wasSaid(change, item);

/** Whether nothing more is decided before the host product has it, or does not get it. */
export const isDecided = ({ status }: Pick<Change, "status">): boolean =>
  status === "applied" || status === "rolled_back" || status === "denied";

/** The items that were added late to a change. */
export const lateItems = ({ late_notes = [] }: Pick<Change, "late_notes">): LateItem[] =>
  late_notes.map(({ item }) => item);
