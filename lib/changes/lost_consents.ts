/** Consents before an accepted loss of the log's end: a revocation of them may be among what was lost, so none counts. */
import { entryKey } from "../audit/chain.ts";
import type { Reads } from "../store/store.ts";
import type { Change } from "./rules/change.ts";
import { parseEvent } from "./rules/event.ts";
import { isLive } from "./rules/current_state.ts";
import type { ChangeRecord } from "./rules/record.ts";

type ConsentedChange = Pick<ChangeRecord, "change" | "audit">;

/** Returns true where a change may have consents that an accepted loss ended; `loss`: the id of its entry, 0 for none. */
export const mayHaveLost = ({ change, audit }: ConsentedChange, loss: number): boolean =>
  isLive(change.status) && change.approvals.length > 0 && loss > audit[0]!;

/** The change without the consents that were given before a loss was accepted; one that is applied or closed as it is. */
export async function removeLostConsents(
  reads: Pick<Reads, "getMany">,
  { change, audit }: ConsentedChange,
  loss: number,
): Promise<Change> {
  if (!mayHaveLost({ change, audit }, loss)) return change;
  const entries = await reads.getMany("audit", audit.map(entryKey));
  const consents = entries.flatMap((entry) =>
    entry && parseEvent(entry.value).detail.decision === "approved" ? [entry.value.id] : [],
  );
  return { ...change, approvals: change.approvals.filter((_, index) => (consents[index] ?? 0) > loss) };
}
