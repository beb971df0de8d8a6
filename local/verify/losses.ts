/** Reads the entries that accepted a loss of the log's end, and explains missing entries by them. */
import type { Entry } from "./line.ts";
import { decodeUtf8, parseDetail } from "./entry_detail.ts";
import { stringOrUndefined, isObject, isIntegerAtLeast } from "./json.ts";

/** A loss that a person accepted. */
export interface Loss {
  entry: number;
  at: string;
  actor: string;
  note: string;
  /** Entries that the log had before the loss (`null`: not known), and entries that were left. */
  known: number | null;
  continues: number;
}

/** Reads the loss that an entry accepts; undefined for any other entry. */
export function readLoss(entry: Entry): Loss | undefined {
  if (entry.eventType !== "loss_accepted") return undefined;
  const { actor, note, known, length } = parseDetail(entry);
  // The end of the log that the service knew before the loss; a head of null: unknown entries followed.
  const before = isObject(known) ? known : {};
  return {
    entry: entry.id,
    at: decodeUtf8(entry.timestamp),
    actor: stringOrUndefined(actor) ?? "",
    note: stringOrUndefined(note) ?? "",
    known: before["head"] === null ? null : readCount(before["length"]),
    continues: readCount(length),
  };
}

const readCount = (value: unknown): number => (isIntegerAtLeast(value, -Infinity) ? value : 0);

/** Describes a loss in one sentence. */
export function lossText(loss: Loss): string {
  const { entry, at, actor } = loss;
  return `entry ${entry}, ${at}: ${actor} accepted that entries ${rangeText(loss)} are lost; they may have been acknowledged`;
}

function rangeText({ known, continues }: Loss): string {
  if (known === null) return `after ${continues}, an unknown number,`;
  // The log may have grown again beyond its lost end before the loss was accepted.
  return continues < known ? `after ${continues} up to ${known}` : `up to ${known}`;
}

/** Explains why the log is shorter than `length` by an accepted loss; `""` where no loss covers that. */
export function explainLoss(losses: readonly Loss[], length: number): string {
  const loss = losses.find(({ known, continues }) => {
    if (known === null) return continues < length;
    // Entries that remained are not lost; a log that had grown beyond its lost end states no entry that remained.
    return known >= length && (continues < length || continues >= known);
  });
  return loss ? `; ${lossText(loss)}` : "";
}
