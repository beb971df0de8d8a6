/** Entries as projections read them. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Actor } from "../changes/rules/actor.ts";
import type { Change } from "../changes/rules/change.ts";
import { type Detail, detailIn } from "../changes/rules/event.ts";
import type { Reading } from "../rollout/rule.ts";

/** Members of an entry's detail that projections read, depending on its type. */
interface Facts extends Detail {
  manifest_hash?: string;
  proposer?: Change["proposer"];
  authenticated?: Actor["authenticated"];
  target?: string;
  progress?: string;
  stage?: string;
  error?: string;
  host?: string;
  /** The result of an operation whose failure is in the log already. */
  late?: boolean;
  state?: string;
  by?: string;
  actor?: string | null;
  until?: string | null;
  /** For an accepted loss: the entries that may be lost. */
  message?: string;
  /** For an accepted clock: the timestamp of the entry before. */
  last?: string;
  adapter?: object | null;
  E?: number | null;
  code?: string;
  /** Figures of a decision on a rollout. */
  readings?: readonly Reading[];
  /** Rejections of a day that have no entry. */
  count?: number;
  day?: string;
}

/** An entry with its detail parsed. */
export interface Entry extends AuditEntry {
  facts: Facts;
}

/** Parses the detail of an entry. */
export const parseEntry = (entry: AuditEntry): Entry => ({ ...entry, facts: detailIn(entry.detail) });

/** Returns the actor of an entry; null for the service itself, or where none is named. */
export const findActor = ({ event_type, facts }: Entry): string | null =>
  (event_type === "change_proposed" || event_type === "proposal_refused"
    ? facts.proposer
    : event_type === "consent_decision" || event_type === "emergency_reviewed"
      ? facts.approver
      : (facts.actor ?? facts.by)) ?? null;
