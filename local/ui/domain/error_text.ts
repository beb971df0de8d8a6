/** Errors of the service in words for a person. */
import type { ErrorBody } from "../core/api.ts";
import { endSentence, localizeTimes, formatTime } from "../core/format.ts";
import { splitMessage } from "./messages.ts";

/** Returns the service's message with a capital and a full stop; a field's or a target's name keeps its spelling. */
export const formatSentence = (message: string): string =>
  endSentence(/^[a-z]+(?=[ ,;:])/.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message);

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Explains an error of the service to the reader. */
export function explainError({ code, error, ...detail }: ErrorBody): string {
  if (code === "restore_contested") {
    const until = Date.parse(text(detail["contested_until"]));
    const again = Number.isNaN(until) ? "" : ` It can be restored again from ${formatTime(until)}.`;
    return `Another program keeps changing this value: it was restored three times within an hour. Stop that program, or roll the change back.${again}`;
  }
  if (code === "target_drifted")
    return "The target holds a value that was set outside Countersign, so a rollback would replace that too.";
  const id = text(detail["change_id"]);
  const parts = splitMessage(localizeTimes(id === "" ? error : error.replaceAll(id, "this change")));
  return formatSentence(parts.map((part) => part.text).join(""));
}
