/** Checks a log of mandates: each loss is followed by a suspension, and no change is applied under a mandate that is not active. */
import type { AuditEntry } from "../../lib/audit/entry.ts";
import type { Store } from "../../lib/store/store.ts";

/** A recorded suspension of a mandate. */
interface Suspension {
  mandate_id: string;
  /** The reason, with the actor if it was a rollback. */
  reason: string;
  /** Number of the cycle that recorded it. */
  cycle: number;
  /** Number of cycles from its cause to its record. */
  cycles: number;
}

/** Results of the check. */
export interface LogFindings {
  applied: number;
  suspensions: Suspension[];
  /** Causes after which the mandate was not suspended within a cycle. */
  late: string[];
  /** Applied changes that no person and no active mandate had approved. */
  wrongly_applied: string[];
}

/** Observations outside the log: contests, and the length of the log at the end of each cycle. */
interface Observations {
  contested: ReadonlyMap<string, { mandate_id: string | undefined; cycle: number }>;
  cycleEnds: readonly number[];
}

interface Detail {
  decision?: string;
  approver?: string;
  actor?: string;
  mandate_id?: string;
  status?: string;
  suspension?: { reason: string };
}

/** Begins the name of an approver that is a mandate; its id follows. */
const MANDATE = "mandate:";

/** Reads a log from its beginning and checks it. */
export async function checkLog(store: Store, { contested, cycleEnds }: Observations): Promise<LogFindings> {
  const findings: LogFindings = { applied: 0, suspensions: [], late: [], wrongly_applied: [] };
  /** Mandates that approved changes, by change. */
  const approved = new Map<string, { mandate: string; isByPeople: boolean }>();
  const active = new Set<string>();
  /** Rollbacks that no suspension has followed yet, by mandate. */
  const causes = new Map<string, { cycle: number; change_id: string; by: string | undefined }>();
  let cycle = 0;
  const checkEntry = ({ id, event_type, change_id, detail: text }: AuditEntry): void => {
    while (id > cycleEnds[cycle]!) cycle++;
    const detail = JSON.parse(text) as Detail;
    const { mandate_id = "", approver = "" } = detail;
    const consent = approved.get(change_id);
    if (event_type === "consent_decision" && detail.decision === "approved") {
      // Changes that only people approved are not tracked.
      if (approver.startsWith(MANDATE))
        approved.set(change_id, { mandate: approver.slice(MANDATE.length), isByPeople: false });
      else if (consent) consent.isByPeople = true;
    } else if (event_type === "change_applied") {
      findings.applied++;
      if (consent && !consent.isByPeople && !active.has(consent.mandate)) findings.wrongly_applied.push(change_id);
    } else if (event_type === "change_rolled_back") {
      if (consent && active.has(consent.mandate)) causes.set(consent.mandate, { cycle, change_id, by: detail.actor });
    } else if (event_type === "mandate_signed" || event_type === "mandate_resumed") {
      if (detail.status === "active") active.add(mandate_id);
    } else if (event_type === "mandate_suspended") {
      const { reason } = detail.suspension!;
      const rollback = causes.get(mandate_id);
      const contest =
        reason === "contested"
          ? [...contested.values()].findLast((found) => found.mandate_id === mandate_id && found.cycle <= cycle)
          : undefined;
      // A KPI below its floor is noticed by the cycle that suspends the mandate.
      const causeCycle = (contest ?? rollback)?.cycle ?? cycle;
      const reasonWithActor = reason === "rollback" && rollback ? `${reason} by ${rollback.by}` : reason;
      findings.suspensions.push({ mandate_id, reason: reasonWithActor, cycle, cycles: cycle - causeCycle });
      active.delete(mandate_id);
      causes.delete(mandate_id);
    }
  };
  for (let after = ""; ;) {
    const page = await store.list("audit", { limit: 500, after });
    if (page.length === 0) break;
    for (const { value } of page) {
      checkEntry(value);
      for (const [mandate, { cycle: from, change_id }] of causes)
        if (cycle > from + 1) {
          findings.late.push(`${mandate}: rollback of ${change_id}`);
          causes.delete(mandate);
        }
    }
    after = page.at(-1)!.id;
  }
  for (const [mandate, { change_id }] of causes) findings.late.push(`${mandate}: rollback of ${change_id}`);
  for (const [change, { mandate_id, cycle: contestCycle }] of contested) {
    const isFollowed = findings.suspensions.some(
      (suspension) => suspension.mandate_id === mandate_id && Math.abs(suspension.cycle - contestCycle) <= 1,
    );
    if (mandate_id !== undefined && !isFollowed) findings.late.push(`${mandate_id}: contest of ${change}`);
  }
  return findings;
}
