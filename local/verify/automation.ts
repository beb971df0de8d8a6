/** Automatic applies by their entries: an approved change that was proposed so, from its time on, until that is stopped. */
import type { Finding } from "./chain.ts";
import { decoded, parseDetail } from "./detail.ts";
import type { Entry } from "./line.ts";
import { parseMoment } from "./moment.ts";

const SERVICE = "policy:apply_when";
const NOT_AUTOMATIC = `it is applied by ${SERVICE}, and the change does not apply by itself`;
const NOT_APPROVED = `it is applied by ${SERVICE}, and the change is not approved`;
const TOO_EARLY = `it is applied by ${SERVICE} before the time of the change`;
const TOO_LATE = `it is applied by ${SERVICE}, and was approved after the time of the change`;
const TOO_LONG = `it is applied by ${SERVICE} more than 24 hours after it was due`;
const AUTHENTICATED = `it is the act of ${SERVICE}, which is the service itself, and names how its actor was authenticated`;
const NOT_ITS_ACT = `${SERVICE} applies changes and stops doing so, and this is neither`;

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

/** An apply is postponed for 24 hours at most; one that began by then may end within another hour. */
const MAX_LATE_MS = 25 * 3600 * 1000;

/** A change that applies by itself. */
interface Automatic {
  /** `approved` or a time. */
  when: unknown;
  /** When its last consent came, since when it is approved, and when it was approved first. */
  approved: string | undefined;
  since: string | undefined;
  first: string | undefined;
}

/** Returns what is not valid of an automatic apply; undefined where nothing is. `since` is undefined where it is not known. */
function whyInvalid({ when, approved, since }: Automatic, at: string, isDated: boolean): string | undefined {
  if (approved === undefined) return NOT_APPROVED;
  if (when !== "approved" && (typeof when !== "string" || !TIME.test(when) || at < when)) return TOO_EARLY;
  if (when !== "approved" && approved >= when) return TOO_LATE;
  const due = when === "approved" ? (since ?? "") : when;
  return isDated && parseMoment(at) - parseMoment(due) > MAX_LATE_MS ? TOO_LONG : undefined;
}

/** Creates the check of entries one after another. */
export function createAutomationCheck() {
  const automatic = new Map<string, Automatic>();
  const stopped = new Map<string, Automatic>();
  let last: Pick<Entry, "id" | "timestamp"> | undefined;
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id, timestamp } = entry;
    const change = decoded(entry.changeId);
    const finding = (message: string): Finding => ({ line, entry: id, rule: "form", message });
    const detail = parseDetail(entry);
    const { actor, status, authenticated = null } = detail;
    const known = automatic.get(change);
    // While a clock is behind the log, entries have the time of the one before.
    const isDated = last?.id === id - 1 && timestamp > last.timestamp;
    last = { id, timestamp };
    if (eventType === "change_proposed" && detail["apply_when"] !== undefined)
      automatic.set(change, {
        when: detail["apply_when"],
        approved: status === "approved" ? "" : undefined,
        since: status === "approved" ? timestamp : undefined,
        first: status === "approved" ? "" : undefined,
      });
    if (eventType === "consent_decision" && known) {
      known.approved = status === "approved" ? timestamp : undefined;
      known.since = status === "approved" ? (known.since ?? timestamp) : undefined;
      known.first ??= known.approved;
    }
    if (eventType === "automation_stopped") {
      if (!known) return finding("it stops the automation of a change that has none");
      automatic.delete(change);
      stopped.set(change, known);
    }
    if (actor !== SERVICE) return undefined;
    if (authenticated !== null) return finding(AUTHENTICATED);
    if (eventType === "automation_stopped" || eventType === "change_apply_failed") return undefined;
    if (eventType !== "change_applied") return finding(NOT_ITS_ACT);
    // An apply that was found later began before the automation, the approval or its day ended; not before its time, or without a consent.
    const isFound = (detail["late"] ?? detail["resolved_after_interruption"]) === true;
    const begun = known ?? (isFound ? stopped.get(change) : undefined);
    if (!begun) return finding(NOT_AUTOMATIC);
    const problem = whyInvalid(isFound ? { ...begun, approved: begun.first } : begun, timestamp, isDated && !isFound);
    return problem === undefined ? undefined : finding(problem);
  };
}
