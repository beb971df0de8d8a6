/**
 * Effects of editing a record of each collection, by a person who can write the store while the service runs. A column of
 * docs/collections.md, which test/docs/collections.test.ts generates from this file.
 */
import type { COLLECTIONS, META_RECORDS } from "../../../lib/store/schema.ts";

const EFFECT_ON_LISTS =
  "Decisions use the log instead, as far as it was read. Lists show the edit until a cycle reports it and `action=rebuild` restores the record.";
const EFFECT_ON_PROJECTION =
  "Figures or memories are wrong: `run-now` with `action=verify_audit` reports them, and `action=rebuild` projects them from the log again.";
const NO_EFFECT_ON_DECISIONS = "No effect on decisions: these records are not part of the log.";

export const EDIT_EFFECTS: Readonly<Record<Exclude<keyof typeof COLLECTIONS, "meta">, string>> = {
  audit: "The chain is broken. A decision that uses the entry reports it, or else a cycle.",
  merkle:
    "A stored checkpoint that is not signed, or that the log does not continue, counts as a broken chain. The tree is rebuilt from the log.",
  witnesses:
    "Verifiers reject a cosignature that the witness did not make. A witness may forget what it saw last; only other witnesses notice that.",
  watched:
    "Verifiers reject a cosignature that the witness did not make. A witness may forget what it saw last; only other witnesses notice that.",
  changes: "Requests reject the record, cycles report it, and `action=rebuild` restores it from the log.",
  manifests:
    "Exports, packs and certificates verify each text against its hash. With another `update_epoch`, an older instance may write, or may no longer write.",
  kpi: "An apply records the values of the log. Displayed values are wrong until `audit/verify` reports them and `action=rebuild` restores them.",
  counts: "The log gets more or fewer entries about rejected proposals.",
  leases:
    "The service asks the target system and records its state. It does not roll back what the log records as applied. The entry names the person of the edited lease.",
  live_by_target: EFFECT_ON_LISTS,
  live_by_agent:
    "An agent may propose more changes than `max_open`, or fewer, until a cycle reports the edit and `action=rebuild` restores the record.",
  mandates: "The service rejects the record, since a mandate is what its entries say. `action=rebuild` restores it.",
  mandates_by_agent: "Removed: the mandate approves nothing until `action=rebuild` restores the record.",
  owners: EFFECT_ON_LISTS,
  set_targets:
    "Removed: if the target was set and rolled back before the part of the log in memory, its next value counts as the first. `max_step` does not limit that one, but a person must consent.",
  places:
    "A target may be denied its own place (409 `target_conflict`), or two targets may share one. The entries of proposals show the place of each.",
  release_checks: "Added: that answer at a gate is not recorded. Removed: it is recorded once more.",
  review_due: EFFECT_ON_LISTS,
  applies_due:
    "Removed: the change does not apply by itself until a cycle reports the edit and `action=rebuild` restores the record. Added: no effect.",
  rollouts_running:
    "Removed: the rule of the rollout decides nothing until a cycle reports the edit and `action=rebuild` restores the record. Added: no effect.",
  samples:
    "The rule of the rollout decides as after a wrong feed. Each decision records the totals that it used, so the feeder can compare them.",
  rollout_rollbacks: "A failed rollback is tried again earlier or later than planned.",
  proposed_by_agent: "An agent may propose more changes than `max_per_day`, or fewer.",
  llm_drafts: "More drafts of models than allowed may wait.",
  llm_drafted: "Removed: a rejected draft may be stored as a proposal again.",
  used_statements: "Removed: a signed statement may be used once more within its ten minutes.",
  erasures_due: "Removed: copies of the erased content may stay.",
  drift: "Removed: the drift is reported once more.",
  guardrail_due:
    "Added: the rollback does not happen, and the record is reported. Removed: the rollback does not happen.",
  guardrail_marks: "Added: no effect, since the log has no entry of it. Removed: the guardrail may act once more.",
  kpi_applied: "Removed: no guardrail watches that change.",
  idempotency:
    "Edited: the answer is 409 `evidence_mismatch` if the log does not record it. Removed: the request is judged again.",
  cursors: EFFECT_ON_PROJECTION,
  sightings: EFFECT_ON_PROJECTION,
  ticks: EFFECT_ON_PROJECTION,
  waiting: EFFECT_ON_PROJECTION,
  successors: EFFECT_ON_PROJECTION,
  tally_days: EFFECT_ON_PROJECTION,
  tally_drafts: EFFECT_ON_PROJECTION,
  tally_attempts: EFFECT_ON_PROJECTION,
  growth_rows: EFFECT_ON_PROJECTION,
  growth_rows_kinds: EFFECT_ON_PROJECTION,
  record_memories: EFFECT_ON_PROJECTION,
  proposal_memories: EFFECT_ON_PROJECTION,
  outcomes: EFFECT_ON_PROJECTION,
  outcomes_due: EFFECT_ON_PROJECTION,
  outcomes_by_kpi: EFFECT_ON_PROJECTION,
  outcomes_by_target: EFFECT_ON_PROJECTION,
  outcome_rows: EFFECT_ON_PROJECTION,
  outcome_memories: EFFECT_ON_PROJECTION,
  calibration: EFFECT_ON_PROJECTION,
  closed: EFFECT_ON_PROJECTION,
  closing_days: EFFECT_ON_PROJECTION,
  kpi_days: EFFECT_ON_PROJECTION,
  on_record: EFFECT_ON_PROJECTION,
  values:
    "A value is returned only if the log, as far as it was read, shows its change as the last one applied there. Removed: the target seems to have no value until `verify_audit` reports it.",
  values_order:
    "A value is returned only if the log, as far as it was read, shows its change as the last one applied there. Removed: the target seems to have no value until `verify_audit` reports it.",
  github_waiting:
    "Added: the deployment gets the answer that follows from the log. Removed: the deployment waits until GitHub delivers it again.",
  github_answered: "Added: the deployment gets no answer. Removed: a repeated delivery is answered again.",
  notices: NO_EFFECT_ON_DECISIONS,
  notices_kinds: NO_EFFECT_ON_DECISIONS,
  values_days: EFFECT_ON_PROJECTION,
  tally: EFFECT_ON_PROJECTION,
  tasks: NO_EFFECT_ON_DECISIONS,
  tasks_order: NO_EFFECT_ON_DECISIONS,
  tasks_open: NO_EFFECT_ON_DECISIONS,
  actions: NO_EFFECT_ON_DECISIONS,
  actions_running: NO_EFFECT_ON_DECISIONS,
  evolved_files: NO_EFFECT_ON_DECISIONS,
  evolved_texts: NO_EFFECT_ON_DECISIONS,
  chat: NO_EFFECT_ON_DECISIONS,
  chat_places: NO_EFFECT_ON_DECISIONS,
  chat_drafts: NO_EFFECT_ON_DECISIONS,
  memories: NO_EFFECT_ON_DECISIONS,
  chat_memories: NO_EFFECT_ON_DECISIONS,
  co_evolution: NO_EFFECT_ON_DECISIONS,
  peers: NO_EFFECT_ON_DECISIONS,
  insights_shared: NO_EFFECT_ON_DECISIONS,
  effects: "A rollback compares the value that it restores with the digest in the apply's entry, if the entry has one.",
  effect_targets:
    "A rollback compares the value that it restores with the digest in the apply's entry, if the entry has one.",
  file_tenants:
    "A rollback may leave an empty object of the tenant in the file, or remove one that another program made.",
};

/** Effects of editing records of the collection `meta`; editing a record that is not listed has no effect on decisions. */
export const META_EDIT_EFFECTS: Readonly<Partial<Record<keyof typeof META_RECORDS, string>>> = {
  chain: "The chain is broken.",
  freeze:
    "No effect: the last freeze in the log, as far as it was read, is in force. `audit/verify` reports the edit, and `action=rebuild` restores the record.",
  checkpoint:
    "A stored checkpoint that is not signed, or that the log does not continue, counts as a broken chain. The tree is rebuilt from the log.",
  merkle:
    "A stored checkpoint that is not signed, or that the log does not continue, counts as a broken chain. The tree is rebuilt from the log.",
  breach:
    "Removed: processes that start later do not know of the breach. Added: writes are rejected until the service restarts and finds the log sound.",
  identity: "With another product's identity, the service does not start.",
  intent:
    "Exports, packs and certificates verify each text against its hash. With another `update_epoch`, an older instance may write, or may no longer write.",
};
