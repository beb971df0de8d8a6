/** Separates the entries of a certificate about mandates from those about the change. */
import type { RecordedEntry } from "./entry_detail.ts";
import type { AddFinding } from "./change_life.ts";
import { isLoss } from "./mandate_state.ts";
import { isMandateEntry } from "./mandates.ts";

/** The entries of a certificate, by subject. */
export interface CertificateEntries {
  /** Entries of the change, and the losses from its proposal on. */
  life: RecordedEntry[];
  /** Entries of its mandates, and the losses from the first of them to the proposal. */
  mandates: RecordedEntry[];
}

/** Divides the entries of a certificate. */
export function divideEntries(all: readonly RecordedEntry[]): CertificateEntries {
  const firstMandateId = all.find(isMandateEntry)?.entry.id ?? Infinity;
  const proposalId = all.find(({ entry }) => entry.eventType === "change_proposed")?.entry.id ?? Infinity;
  const isAboutMandate = (one: RecordedEntry): boolean =>
    isMandateEntry(one) || (isLoss(one) && one.entry.id > firstMandateId && one.entry.id < proposalId);
  return { life: all.filter((one) => !isAboutMandate(one)), mandates: all.filter(isAboutMandate) };
}

/** Requires that entries about mandates are of the change's log, name no change, and are in order. */
export function requireMandates(
  mandates: readonly RecordedEntry[],
  first: RecordedEntry | undefined,
  addFinding: AddFinding,
): void {
  for (const [index, { entry }] of mandates.entries()) {
    if (entry.changeId !== "") addFinding(entry.id, "form", "it is about a mandate, but has a change_id");
    if (entry.origin !== first?.entry.origin)
      addFinding(entry.id, "origin", "its origin is not that of the first entry");
    if (index > 0 && entry.id <= mandates[index - 1]!.entry.id)
      addFinding(entry.id, "id", "its id is not higher than that of the previous entry");
  }
}
