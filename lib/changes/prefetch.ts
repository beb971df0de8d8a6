/** Declares the reads of commands: a shared store fetches them in one request, before the decisions run. */
import { entryKey } from "../audit/chain.ts";
import type { Prefetch, Reads } from "../store/store.ts";
import { listLeaseKeys, listOtherLeases } from "./operations/lease.ts";
import {
  MAX_LISTED_CHANGES,
  listIndexedOpenChanges,
  formatTargetChangeKey,
  readStoredChange,
  formatTargetKey,
} from "./records.ts";
import type { Operation } from "./rules/command.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import type { ChangeRecord } from "./rules/record.ts";

/** Declares the reads of a proposal. */
export const prefetchTargets =
  (proposal: ChangeEntry): Prefetch =>
  (reads) =>
    Promise.all(
      listEntries(proposal).flatMap((entry) => [
        // The last row is the change in force.
        reads.list("owners", { prefix: formatTargetKey(entry), limit: 1, reverse: true }),
        listIndexedOpenChanges(reads, entry),
      ]),
    );

/** Declares the reads of a decision on a change: its record, its entries, and the owners of its targets. */
export const prefetchChange =
  (changeId: string, prefetchMore?: (reads: Reads, record: ChangeRecord) => Promise<unknown>): Prefetch =>
  async (reads) => {
    const record = await readStoredChange(reads, changeId);
    await Promise.all([
      reads.getMany("audit", record.audit.map(entryKey)),
      ...listEntries(record.change).map((entry) =>
        reads.list("owners", { prefix: formatTargetKey(entry), limit: MAX_LISTED_CHANGES, reverse: true }),
      ),
      prefetchMore?.(reads, record),
    ]);
  };

/** Declares the reads of an apply or a rollback. */
export const prefetchOperation = (changeId: string, operation: Operation): Prefetch =>
  prefetchChange(changeId, (reads, { change, applied }) => {
    const entries = listEntries(change);
    return Promise.all([
      reads.getMany("leases", listLeaseKeys(change)),
      listOtherLeases(reads, [change]),
      reads.get("meta", "freeze"),
      ...(operation === "apply"
        ? [
            reads.get("kpi", "latest"),
            reads.getMany("set_targets", entries.map(formatTargetKey)),
            ...entries.map((entry) =>
              reads.list("owners", { prefix: formatTargetKey(entry), limit: 1, reverse: true }),
            ),
            reads.getMany(
              "live_by_target",
              entries.map((entry) => formatTargetChangeKey({ ...entry, change_id: changeId })),
            ),
          ]
        : [
            reads.get("guardrail_due", changeId),
            // The same list as in `listEpisodes`.
            reads.list("drift", { prefix: changeId, limit: 50 }),
            // The row of this change among the owners of each target.
            applied &&
              reads.getMany(
                "owners",
                entries.map((entry) => formatTargetKey(entry) + entryKey(applied.entry)),
              ),
          ]),
    ]);
  });
