/** The entries of a certificate that are about mandates, apart from those of the change. */
import type { RecordedEntry } from "./detail.ts";
import type { Found } from "./life.ts";
import { isLoss } from "./mandate_fold.ts";
import { isOfMandate } from "./mandates.ts";

/** Entries of a certificate by the subject that they are about. */
export interface Divided {
  /** Entries of the change, and the losses from its proposal on. */
  life: RecordedEntry[];
  /** Entries of its mandates, and the losses from the first of them to the proposal. */
  mandates: RecordedEntry[];
}

/** Divides the entries of a certificate. */
export function divideEntries(all: readonly RecordedEntry[]): Divided {
  const signed = all.find(isOfMandate)?.entry.id ?? Infinity;
  const proposed = all.find(({ entry }) => entry.eventType === "change_proposed")?.entry.id ?? Infinity;
  const isMandates = (one: RecordedEntry): boolean =>
    isOfMandate(one) || (isLoss(one) && one.entry.id > signed && one.entry.id < proposed);
  return { life: all.filter((one) => !isMandates(one)), mandates: all.filter(isMandates) };
}

/** Entries about mandates are of the same log, about no change, and in order. */
export function requireMandates(
  mandates: readonly RecordedEntry[],
  first: RecordedEntry | undefined,
  found: Found,
): void {
  for (const [index, { entry }] of mandates.entries()) {
    if (entry.changeId !== "") found(entry.id, "form", "it is about a change and a mandate");
    if (entry.origin !== first?.entry.origin) found(entry.id, "origin", "it is of another log than the first");
    if (index > 0 && entry.id <= mandates[index - 1]!.entry.id)
      found(entry.id, "id", "it does not stand behind the one before");
  }
}
