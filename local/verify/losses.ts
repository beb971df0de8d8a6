/** Accepted losses of the end of the log, as its entries state them, and what they say of a receipt that the log lacks. */
import type { Entry } from "./line.ts";
import { decoded, parseDetail } from "./detail.ts";
import { asText, isObject, isWhole } from "./json.ts";

/** A loss that a person accepted. */
export interface Loss {
  entry: number;
  at: string;
  actor: string;
  note: string;
  /** How many entries the log had before (`null`: not known), and how many it went on from. */
  known: number | null;
  continues: number;
}

/** The loss that an entry states; undefined where it states none. */
export function readLoss(entry: Entry): Loss | undefined {
  if (entry.eventType !== "loss_accepted") return undefined;
  const { actor, note, known, length } = parseDetail(entry);
  const before = isObject(known) ? known : {};
  return {
    entry: entry.id,
    at: decoded(entry.timestamp),
    actor: asText(actor) ?? "",
    note: asText(note) ?? "",
    known: before["head"] === null ? null : count(before["length"]),
    continues: count(length),
  };
}

const count = (value: unknown): number => (isWhole(value, -Infinity) ? value : 0);

/** One loss in a sentence. */
export function lossText({ entry, at, actor, known, continues }: Loss): string {
  const lost =
    known === null
      ? `after ${continues}, of which nobody knows how many there were,`
      : continues < known
        ? `after ${continues} up to ${known}`
        : `up to ${known}`;
  return `entry ${entry}, ${at}: ${actor} accepted that entries ${lost} are lost; they may have been acknowledged`;
}

/** Explains an end that the log lacks by an accepted loss; empty where no loss covers it. */
export function whyLost(losses: readonly Loss[], length: number): string {
  const loss = losses.find(({ known, continues }) => (known === null ? continues < length : known >= length));
  return loss ? `; ${lossText(loss)}` : "";
}
