/** Replaces ids of changes in messages of the service by words. */
import type { Gate } from "../core/api_types.ts";
import { formatCount, localizeTimes } from "../core/format.ts";

const ID = /\b(chg_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g;

/** Splits a message into texts and ids of changes. */
export const splitMessage = (message: string): { text: string; id?: string }[] =>
  message
    .split(ID)
    .map((part, index) => (index % 2 === 0 ? { text: part } : { text: "another change", id: part }))
    .filter(({ text }) => text !== "");

/** Returns the message of a gate without ids, for places without links. */
export function describeGate({ gate, message }: Pick<Gate, "gate" | "message">): string {
  const count = message.match(ID)?.length ?? 0;
  if (gate === "target_conflict" && count > 0) return `${formatCount(count, "other live change")} on this target`;
  return localizeTimes(message.replaceAll(ID, "another change"));
}
