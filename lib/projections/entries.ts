/** Entries as followers read them. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Actor } from "../changes/rules/actor.ts";
import type { Change } from "../changes/rules/change.ts";
import { type Detail, detailIn } from "../changes/rules/event.ts";

/** Facts of an entry's detail that followers read; each type of entry has its own. */
interface Facts extends Detail {
  manifest_hash?: string;
  proposer?: Change["proposer"];
  authenticated?: Actor["authenticated"];
  target?: string;
  progress?: string;
  stage?: string;
  error?: string;
  host?: string;
  /** The host's answer to an operation whose failure is in the log already. */
  late?: boolean;
  state?: string;
  by?: string;
  actor?: string | null;
  until?: string | null;
  /** The entries that may be lost, in an accepted loss. */
  message?: string;
  /** Of an accepted clock: when the entry before it says it was written. */
  last?: string;
  adapter?: object | null;
  E?: number | null;
  code?: string;
  /** Refusals of a day that have no entry of their own. */
  count?: number;
  day?: string;
}

/** An entry with its detail read. */
export interface Entry extends AuditEntry {
  facts: Facts;
}

/** Reads an entry. */
export const factsIn = (entry: AuditEntry): Entry => ({ ...entry, facts: detailIn(entry.detail) });

/** The actor of an entry; null for the service itself, or where no one is named. */
export const findActor = ({ event_type, facts }: Entry): string | null =>
  (event_type === "change_proposed" || event_type === "proposal_refused"
    ? facts.proposer
    : event_type === "consent_decision" || event_type === "emergency_reviewed"
      ? facts.approver
      : (facts.actor ?? facts.by)) ?? null;
