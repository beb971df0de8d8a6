/** The ledger of the simulated month: its actions as the script records them, never read from the service. */

/** Kinds of actions of the month. `expired`: not approved in time; `lapsed`: approved, and not applied in time. */
export type ActKind =
  | "proposed"
  | "approved"
  | "denied"
  | "withdrawn"
  | "revoked"
  | "expired"
  | "lapsed"
  | "applied"
  | "apply_failed"
  | "apply_refused"
  | "rolled_back"
  | "rollback_failed"
  | "reviewed"
  | "drifted"
  | "drift_mended"
  | "refused"
  | "fed"
  | "froze"
  | "asked_for_task"
  | "rated_task"
  | "said";

/** One act in the ledger. */
export interface Act {
  /** RFC 3339, UTC. */
  at: string;
  /** The person or agent; null for an effect of time or of a rule. */
  by: string | null;
  did: ActKind;
  /** The name of the change in the script. */
  change?: string;
  /** A note, a reason, an error, a message, a task's title. */
  text?: string;
  /** The audit entry of the act, if the response contained one. */
  entry?: number;
  /** The status of the change after a consent. */
  leaves?: "approved" | "pending_consent";
  /** Set for an emergency consent. */
  emergency?: true;
  /** KPIs that were fed. */
  values?: Readonly<Record<string, number>>;
}

/** Statuses of changes, as the service names them. */
export type LedgerStatus = "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

/** A change of the month. */
export interface LedgerChange {
  /** The name in the script, such as `short form`. */
  name: string;
  id: string;
  tenant: string;
  kind: string;
  target: string;
  summary: string;
  rationale: string | null;
  risk: "low" | "medium" | "high";
  tier: "minor" | "standard" | "major";
  reversible: boolean;
  affected_users: number | null;
  kpi: string | null;
  expected: number | null;
  proposer: string;
  asked_by: string | null;
  status: LedgerStatus;
  /** The reason why the change is denied. */
  ended: "denied" | "withdrawn" | "expired" | "revoked" | "lapsed" | null;
  drifting: boolean;
}

/** A task of the month. */
export interface LedgerTask {
  id: string;
  title: string;
  priority: string;
  dimension: string;
  status: "queued" | "completed";
  ratings: { by: string; rating: number; comment: string }[];
}

/** All acts in order, and the changes and tasks. */
export interface Ledger {
  acts: Act[];
  changes: Map<string, LedgerChange>;
  tasks: LedgerTask[];
}

/** Returns the acts on one change, in order. */
export const listActs = ({ acts }: Ledger, name: string): Act[] => acts.filter(({ change }) => change === name);

/** Returns the change of this name; throws if there is none. */
export function findChange({ changes }: Ledger, name: string): LedgerChange {
  const change = changes.get(name);
  if (!change) throw new Error(`no change of the month is called ${name}`);
  return change;
}
