/**
 * Verifies automatic applies by their entries. An automatic apply needs a change that was proposed with `apply_when` and is
 * approved. If `apply_when` is a time, the apply comes at that time or later. None comes after the automation was stopped.
 */
import type { Finding } from "./chain.ts";
import { decodeUtf8, parseDetail } from "./entry_detail.ts";
import type { JsonObject } from "./json.ts";
import type { Entry } from "./line.ts";
import { parseMoment } from "./parse_moment.ts";

/** The actor of automatic applies. */
const SERVICE = "policy:apply_when";
const NOT_AUTOMATIC = `it was applied by ${SERVICE}, but the change is not set to apply automatically`;
const NOT_APPROVED = `it was applied by ${SERVICE}, but the change is not approved`;
const TOO_EARLY = `it was applied by ${SERVICE} before the apply_when of the change`;
const TOO_LATE = `it was applied by ${SERVICE}, but approved after the apply_when of the change`;
const TOO_LONG = `it was applied by ${SERVICE} more than 24 hours after it was due`;
const NAMES_AUTHENTICATION = `its actor is ${SERVICE}, which is the service itself, but it has an authenticated`;
const OTHER_ACTION = `its actor is ${SERVICE}, which only applies changes or stops applying them`;

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

/** An apply begins at most 24 hours after it was due, and may take another hour. */
const MAX_LATE_MS = 25 * 3600 * 1000;

/** A change that applies by itself. Times are those of entries. */
interface AutomaticChange {
  /** `approved`, or the time at which it applies. */
  applyWhen: unknown;
  /** Time of its latest consent; undefined while it is not approved; `""`, before all times, if its proposal approved it. */
  approvedAt: string | undefined;
  /** Time of the entry that approved it; later consents do not move it. */
  approvedSince: string | undefined;
  /** First value of `approvedAt`, also after a revocation. */
  firstApprovedAt: string | undefined;
}

/** Explains why an automatic apply at the time `at` is invalid. `isTimeExact`: `at` is the time of the apply itself. */
function findProblem(
  { applyWhen, approvedAt, approvedSince }: AutomaticChange,
  at: string,
  isTimeExact: boolean,
): string | undefined {
  if (approvedAt === undefined) return NOT_APPROVED;
  if (applyWhen !== "approved") {
    if (typeof applyWhen !== "string" || !TIME.test(applyWhen) || at < applyWhen) return TOO_EARLY;
    if (approvedAt >= applyWhen) return TOO_LATE;
  }
  const due = applyWhen === "approved" ? (approvedSince ?? "") : applyWhen;
  return isTimeExact && parseMoment(at) - parseMoment(due) > MAX_LATE_MS ? TOO_LONG : undefined;
}

/** Creates a check that takes the entries of a log in their order. */
export function createAutomationCheck() {
  const automatic = new Map<string, AutomaticChange>();
  const stopped = new Map<string, AutomaticChange>();
  let last: Pick<Entry, "id" | "timestamp"> | undefined;

  /** Records the facts of an entry about a change that applies by itself. Returns the problem of a stop without such a change. */
  const recordFacts = ({ eventType, timestamp }: Entry, change: string, detail: JsonObject): string | undefined => {
    const { apply_when: applyWhen, status } = detail;
    const isApproved = status === "approved";
    const known = automatic.get(change);
    if (eventType === "change_proposed" && applyWhen !== undefined)
      automatic.set(change, {
        applyWhen,
        approvedAt: isApproved ? "" : undefined,
        approvedSince: isApproved ? timestamp : undefined,
        firstApprovedAt: isApproved ? "" : undefined,
      });
    if (eventType === "consent_decision" && known) {
      known.approvedAt = isApproved ? timestamp : undefined;
      known.approvedSince = isApproved ? (known.approvedSince ?? timestamp) : undefined;
      known.firstApprovedAt ??= known.approvedAt;
    }
    if (eventType !== "automation_stopped") return undefined;
    if (!known) return "it stops the automatic apply of a change that has none";
    automatic.delete(change);
    stopped.set(change, known);
    return undefined;
  };

  /** Explains why an action of the service itself is invalid. */
  const findActionProblem = (
    { eventType, timestamp }: Entry,
    change: string,
    detail: JsonObject,
    isTimeExact: boolean,
  ): string | undefined => {
    const { authenticated = null } = detail;
    if (authenticated !== null) return NAMES_AUTHENTICATION;
    if (eventType === "automation_stopped" || eventType === "change_apply_failed") return undefined;
    if (eventType !== "change_applied") return OTHER_ACTION;
    // An apply whose success was found out later may have begun before the automation was stopped, the approval revoked or the
    // 24 hours over. It still needs a consent, and its time.
    const isResolvedLater = (detail["late"] ?? detail["resolved_after_interruption"]) === true;
    const automation = automatic.get(change) ?? (isResolvedLater ? stopped.get(change) : undefined);
    if (!automation) return NOT_AUTOMATIC;
    return findProblem(
      isResolvedLater ? { ...automation, approvedAt: automation.firstApprovedAt } : automation,
      timestamp,
      isTimeExact && !isResolvedLater,
    );
  };

  return (entry: Entry, line: number): Finding | undefined => {
    const { id, timestamp } = entry;
    const change = decodeUtf8(entry.changeId);
    const detail = parseDetail(entry);
    // While the clock is behind the log, an entry repeats the time of the entry before it, which a certificate may omit.
    const isTimeExact = last?.id === id - 1 && timestamp > last.timestamp;
    last = { id, timestamp };
    const message =
      recordFacts(entry, change, detail) ??
      (detail["actor"] === SERVICE ? findActionProblem(entry, change, detail, isTimeExact) : undefined);
    return message === undefined ? undefined : { line, entry: id, rule: "form", message };
  };
}
