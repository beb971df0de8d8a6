/** Actions of the simulated month, written down by the script that did it and never read from the service. */

/** Kinds of actions of the month. */
export type Did =
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

/** One act: who did what, when. */
export interface Act {
  /** RFC 3339, UTC. */
  at: string;
  /** Null: time alone did it. */
  by: string | null;
  did: Did;
  /** The change by its name in the story. */
  change?: string;
  /** A note, a reason, an error, a message, a task's title. */
  text?: string;
  /** The audit entry that tells of it, where the act was answered with one. */
  entry?: number;
  /** How a consent leaves the change. */
  leaves?: "approved" | "pending_consent";
  /** A consent given in an emergency. */
  emergency?: true;
  /** KPIs that were fed. */
  values?: Readonly<Record<string, number>>;
}

/** How a change stands, in the service's own word for it. */
export type Standing = "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

/** A change of the month. */
export interface LedgerChange {
  /** Its name in the story: `short form`. */
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
  status: Standing;
  /** How a denied one ended. */
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

/** Everything that was done, in order, and the changes and tasks it was done to. */
export interface Ledger {
  acts: Act[];
  changes: Map<string, LedgerChange>;
  tasks: LedgerTask[];
}

/** The acts on one change, in order. */
export const listActs = ({ acts }: Ledger, name: string): Act[] => acts.filter(({ change }) => change === name);

/** The change of this name; a misspelt name throws. */
export function changeNamed({ changes }: Ledger, name: string): LedgerChange {
  const change = changes.get(name);
  if (!change) throw new Error(`no change of the month is called ${name}`);
  return change;
}
