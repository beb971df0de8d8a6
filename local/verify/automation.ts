/** Automatic applies by their entries: only a change that was proposed so applies by itself, and only until that is stopped. */
import type { Finding } from "./chain.ts";
import { decoded, parseDetail } from "./detail.ts";
import type { Entry } from "./line.ts";

const NOT_AUTOMATIC = "it is applied by policy:apply_when, and the change does not apply by itself";

/** Creates the check of entries one after another. */
export function createAutomationCheck() {
  const automatic = new Set<string>();
  const stopped = new Set<string>();
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id } = entry;
    const change = decoded(entry.changeId);
    const finding = (message: string): Finding => ({ line, entry: id, rule: "form", message });
    if (eventType === "change_proposed" && parseDetail(entry)["apply_when"] !== undefined) automatic.add(change);
    if (eventType === "automation_stopped") {
      if (!automatic.delete(change)) return finding("it stops the automation of a change that has none");
      stopped.add(change);
    }
    if (eventType !== "change_applied") return undefined;
    const { actor, late, resolved_after_interruption } = parseDetail(entry);
    if (actor !== "policy:apply_when" || automatic.has(change)) return undefined;
    // The apply began before the automation was stopped.
    const isFound = (late ?? resolved_after_interruption) === true;
    return stopped.has(change) && isFound ? undefined : finding(NOT_AUTOMATIC);
  };
}
