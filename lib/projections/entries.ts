/** Entries as projections read them. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Actor } from "../changes/rules/actor.ts";
import type { Change } from "../changes/rules/change.ts";
import { type EventDetail, type PlanTarget, parseDetail } from "../changes/rules/event.ts";
import type { Reading } from "../rollout/rule.ts";

/** Members of an entry's detail that projections read, depending on its type. */
interface EntryFacts extends EventDetail {
  manifest_hash?: string;
  proposer?: Change["proposer"];
  authenticated?: Actor["authenticated"];
  target?: string;
  error?: string;
  /** The result of an operation whose failure is in the log already. */
  late?: boolean;
  /** The name of the actor in entries without `actor`. */
  by?: string;
  actor?: string | null;
  adapter?: object | null;
  /** The targets of a plan, each with its result of the adapter. */
  sets?: readonly (PlanTarget & Pick<EntryFacts, "adapter">)[];
  E?: number | null;
  /** Figures of a decision on a rollout. */
  readings?: readonly Reading[];
}

/** An entry with its detail parsed. */
export interface Entry extends AuditEntry {
  facts: EntryFacts;
}

/** Parses the detail of an entry. */
export const parseEntry = (entry: AuditEntry): Entry => ({ ...entry, facts: parseDetail(entry.detail) });

/** Returns the name of an entry's actor, also a name of the service such as `policy:expiry`; null if the entry names none. */
export function findActor({ event_type, facts }: Entry): string | null {
  if (event_type === "change_proposed" || event_type === "proposal_refused") return facts.proposer ?? null;
  if (event_type === "consent_decision" || event_type === "emergency_reviewed") return facts.approver ?? null;
  return facts.actor ?? facts.by ?? null;
}
