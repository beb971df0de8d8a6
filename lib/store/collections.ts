/** Special cases of engines: the ids of sequences, the chain's head, and the log. */
import type { Collection, Meta } from "./store.ts";
import type { Key } from "./version.ts";

/** The id of the record with this number in a sequence. */
export const sequenceId = (number: number): string => String(number).padStart(16, "0");

/** Key of the chain's head, a record that every governed decision reads and replaces. */
export const HEAD_RECORD = { collection: "meta", id: "chain" } as const satisfies {
  collection: Collection;
  id: keyof Meta;
};

/** Returns true for the key of the chain's head. */
export const isHeadRecord = ({ collection, id }: Key): boolean =>
  collection === HEAD_RECORD.collection && id === HEAD_RECORD.id;

/** The collection of the log. */
export const LOG_COLLECTION = "audit" satisfies Collection;
