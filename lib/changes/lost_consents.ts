/** Consents given before an accepted loss of the log's end do not count: their revocation may be among the lost entries. */
import { entryKey } from "../audit/chain.ts";
import type { Reads } from "../store/store.ts";
import type { Change } from "./rules/change.ts";
import { parseEvent } from "./rules/event.ts";
import { isOpenChange } from "./rules/current_state.ts";
import type { ChangeRecord } from "./rules/record.ts";

type ConsentedChange = Pick<ChangeRecord, "change" | "audit">;

/**
 * Returns true if an accepted loss may have ended consents of a change: it was accepted after the proposal, the first of the
 * change's entries. `loss`: the id of the entry that accepts it, 0 for none.
 */
export const mayHaveLostConsents = ({ change, audit }: ConsentedChange, loss: number): boolean =>
  isOpenChange(change.status) && change.approvals.length > 0 && loss > audit[0]!;

/** Returns an open change without the consents that were recorded before a loss was accepted; other changes as they are. */
export async function removeLostConsents(
  reads: Pick<Reads, "getMany">,
  { change, audit }: ConsentedChange,
  loss: number,
): Promise<Change> {
  if (!mayHaveLostConsents({ change, audit }, loss)) return change;
  const entries = await reads.getMany("audit", audit.map(entryKey));
  const consents = entries.flatMap((entry) =>
    entry && parseEvent(entry.value).detail.decision === "approved" ? [entry.value.id] : [],
  );
  // Approvals are in the order of their entries.
  return { ...change, approvals: change.approvals.filter((_, index) => (consents[index] ?? 0) > loss) };
}
