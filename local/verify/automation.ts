/**
 * Verifies automatic applies by their entries. An automatic apply needs a change that was proposed with `apply_when` and is
 * approved; it comes at that time or later, and not after the automation was stopped.
 */
import type { Finding } from "./chain.ts";
import { decodeUtf8, parseDetail } from "./detail.ts";
import type { Entry } from "./line.ts";
import { parseMoment } from "./moment.ts";

const SERVICE = "policy:apply_when";
const NOT_AUTOMATIC = `it is applied by ${SERVICE}, and the change does not apply by itself`;
const NOT_APPROVED = `it is applied by ${SERVICE}, and the change is not approved`;
const TOO_EARLY = `it is applied by ${SERVICE} before the time of the change`;
const TOO_LATE = `it is applied by ${SERVICE}, and was approved after the time of the change`;
const TOO_LONG = `it is applied by ${SERVICE} more than 24 hours after it was due`;
const NAMES_AUTHENTICATION = `it is the act of ${SERVICE}, which is the service itself, and names how its actor was authenticated`;
const OTHER_ACTION = `${SERVICE} applies changes and stops doing so, and this is neither`;

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

/** An apply begins at most 24 hours after it was due, and may take another hour. */
const MAX_LATE_MS = 25 * 3600 * 1000;

/** A change that applies by itself. Times are those of entries; `""`: it was approved by its proposal. */
interface AutomaticChange {
  /** `approved`, or the time at which it applies. */
  when: unknown;
  /** Undefined while it is not approved; each later consent moves it. */
  approvedAt: string | undefined;
  /** Time of the consent that approved it; later consents do not move it. */
  approvedSince: string | undefined;
  /** Time of its first approval, also after a revocation. */
  firstApprovedAt: string | undefined;
}

/** Explains why an automatic apply at the time `at` is invalid. `isTimeExact`: `at` is the time of the apply itself. */
function findProblem(
  { when, approvedAt, approvedSince }: AutomaticChange,
  at: string,
  isTimeExact: boolean,
): string | undefined {
  if (approvedAt === undefined) return NOT_APPROVED;
  if (when !== "approved" && (typeof when !== "string" || !TIME.test(when) || at < when)) return TOO_EARLY;
  if (when !== "approved" && approvedAt >= when) return TOO_LATE;
  const due = when === "approved" ? (approvedSince ?? "") : when;
  return isTimeExact && parseMoment(at) - parseMoment(due) > MAX_LATE_MS ? TOO_LONG : undefined;
}

/** Creates a check that takes the entries of a log in their order. */
export function createAutomationCheck() {
  const automatic = new Map<string, AutomaticChange>();
  const stopped = new Map<string, AutomaticChange>();
  let last: Pick<Entry, "id" | "timestamp"> | undefined;
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id, timestamp } = entry;
    const change = decodeUtf8(entry.changeId);
    const finding = (message: string): Finding => ({ line, entry: id, rule: "form", message });
    const detail = parseDetail(entry);
    const { actor, status, authenticated = null } = detail;
    const known = automatic.get(change);
    // While the clock is behind the log, an entry repeats the time of the entry before it.
    const isTimeExact = last?.id === id - 1 && timestamp > last.timestamp;
    last = { id, timestamp };
    if (eventType === "change_proposed" && detail["apply_when"] !== undefined)
      automatic.set(change, {
        when: detail["apply_when"],
        approvedAt: status === "approved" ? "" : undefined,
        approvedSince: status === "approved" ? timestamp : undefined,
        firstApprovedAt: status === "approved" ? "" : undefined,
      });
    if (eventType === "consent_decision" && known) {
      known.approvedAt = status === "approved" ? timestamp : undefined;
      known.approvedSince = status === "approved" ? (known.approvedSince ?? timestamp) : undefined;
      known.firstApprovedAt ??= known.approvedAt;
    }
    if (eventType === "automation_stopped") {
      if (!known) return finding("it stops the automation of a change that has none");
      automatic.delete(change);
      stopped.set(change, known);
    }
    if (actor !== SERVICE) return undefined;
    if (authenticated !== null) return finding(NAMES_AUTHENTICATION);
    if (eventType === "automation_stopped" || eventType === "change_apply_failed") return undefined;
    if (eventType !== "change_applied") return finding(OTHER_ACTION);
    // An apply whose success was found out later may have begun before the automation was stopped, the approval revoked or the
    // 24 hours over. It still needs a consent, and its time.
    const isResolvedLater = (detail["late"] ?? detail["resolved_after_interruption"]) === true;
    const automation = known ?? (isResolvedLater ? stopped.get(change) : undefined);
    if (!automation) return finding(NOT_AUTOMATIC);
    const problem = findProblem(
      isResolvedLater ? { ...automation, approvedAt: automation.firstApprovedAt } : automation,
      timestamp,
      isTimeExact && !isResolvedLater,
    );
    return problem === undefined ? undefined : finding(problem);
  };
}
