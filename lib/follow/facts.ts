/** What an entry's detail says, as far as followers read it. What an older version left out is absent. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Change, Resolution, Status } from "../governance/rules/change.ts";
import { eventOf } from "../governance/rules/event.ts";
import type { GuardrailEvidence } from "../governance/rules/guardrail.ts";

/** The members of a detail. */
export interface Facts {
  status?: Status;
  manifest_hash?: string;
  proposer?: Change["proposer"];
  target?: string;
  decision?: "approved" | Resolution;
  approver?: string;
  note?: string | null;
  progress?: string;
  stage?: string;
  error?: string;
  host?: string;
  state?: string;
  by?: string;
  adapter?: object | null;
  values?: Record<string, number>;
  E?: number | null;
  tripped?: (GuardrailEvidence & { change_id: string })[];
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
export const factsIn = (entry: AuditEntry): Entry => ({ ...entry, facts: eventOf(entry).detail as Facts });
