/** Checks the revision that a caller expects; requests of release gates do not count as changes. */
import { type Caller, requireRevision } from "../caller.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { Transaction } from "../transaction.ts";

/**
 * Requires the expected revision, or a later one that only `release_checked` entries led to. Errors: 412 `version_mismatch`.
 */
export async function requireUnchanged(
  { ledger }: Transaction,
  caller: Pick<Caller, "expected">,
  record: ChangeRecord,
): Promise<void> {
  const { change_id, revision } = record.change;
  const { expected } = caller;
  if (expected && !expected.revisions.includes(revision)) {
    const entries = await ledger.entries(change_id, record);
    const lastChange = entries.findLastIndex(({ event_type }) => event_type !== "release_checked");
    // Each entry raises the revision by one.
    const changedRevision = revision - (entries.length - 1 - lastChange);
    if (expected.revisions.some((stated) => stated >= changedRevision && stated < revision)) return;
  }
  requireRevision(caller, revision);
}
