/** Messages and errors of the service in words for a person, without ids of changes. */
import type { Gate } from "../core/api_types.ts";
import { formatCount, localizeTimes, endSentence, formatTime } from "../core/format.ts";
import type { ErrorBody } from "../core/api.ts";

const ID = /\b(chg_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g;

/** Splits a message into texts and ids of changes. `split` returns the ids too, at odd indexes, since `ID` captures them. */
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

/** Returns the service's message with a capital and a full stop; a first word with other characters, such as a field `change_id`, remains. */
export const formatSentence = (message: string): string =>
  endSentence(/^[a-z]+(?=[ ,;:])/.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message);

const readText = (value: unknown): string => (typeof value === "string" ? value : "");

/** Explains an error of the service; ids of changes become "this change" and "another change". */
export function explainError({ code, error, ...detail }: ErrorBody): string {
  if (code === "restore_contested") {
    const until = Date.parse(readText(detail["contested_until"]));
    const again = Number.isNaN(until) ? "" : ` It can be restored again from ${formatTime(until)}.`;
    return `Another program keeps changing this value: it was restored three times within an hour. Stop that program, or roll the change back.${again}`;
  }
  if (code === "target_drifted")
    return "The target holds a value that was set outside Countersign, so a rollback would replace that too.";
  const id = readText(detail["change_id"]);
  const parts = splitMessage(localizeTimes(id === "" ? error : error.replaceAll(id, "this change")));
  return formatSentence(parts.map((part) => part.text).join(""));
}
