/**
 * Effects of editing a record of each collection, by a person who can write the store while the service runs. A column of
 * docs/collections.md, which test/docs/collections.test.ts generates from this file.
 */
import type { COLLECTIONS, META_RECORDS } from "../../../lib/store/schema.ts";

const EFFECT_ON_LISTS =
  "None on a decision, as far as the log was read; lists show it until the cycles report it; rebuilt.";
const EFFECT_ON_PROJECTION =
  "Figures and memories that are projected from the log: `run-now` with `action=verify_audit` names them, `rebuild` makes them again.";
const NO_EFFECT_ON_DECISIONS = "Not part of the log, and nothing is decided by them.";

export const EDIT_EFFECTS: Readonly<Record<Exclude<keyof typeof COLLECTIONS, "meta">, string>> = {
  audit: "Broken chain, when it is used and by the cycles.",
  merkle: "A checkpoint that is not signed, or that the log does not continue, is a broken chain; the tree is rebuilt.",
  witnesses:
    "Verifiers reject a cosignature that is not the witness's; what a witness saw last may be forgotten, which only other witnesses notice.",
  watched:
    "Verifiers reject a cosignature that is not the witness's; what a witness saw last may be forgotten, which only other witnesses notice.",
  changes: "Rejected when used, named by the cycles, rebuilt.",
  manifests:
    "Exports, packs and certificates verify a text against its hash; another `update_epoch` lets an older instance write, or keeps it from it.",
  kpi: "An apply records the values in the log; shown figures are wrong until `audit/verify` names them; rebuilt.",
  counts: "More or fewer rejections stand in the log.",
  leases:
    "The host is asked and its state recorded; what the log records as applied is not rolled back; the entry names the lease's person.",
  live_by_target: EFFECT_ON_LISTS,
  live_by_agent: "An agent may exceed or miss its `max_open` (reported and rebuilt by cycles) or `max_per_day`.",
  mandates: "Rejected when used: a mandate is what its entries say; rebuilt.",
  mandates_by_agent: "A mandate that is not listed approves nothing; rebuilt.",
  owners: EFFECT_ON_LISTS,
  set_targets:
    "A target set and rolled back before the log in memory may get another first value, which the intent's steps do not limit; a person still consents.",
  places:
    "A place may be denied to its target (409 `target_conflict`) or shared by two: the proposals' entries show the place of each.",
  release_checks: "Added: an answer at a gate is not recorded; removed: it is recorded once more.",
  review_due: EFFECT_ON_LISTS,
  applies_due:
    "Removed: no automatic apply, no decision on the rollout, until the cycles report and rebuild it; added: nothing.",
  rollouts_running:
    "Removed: no automatic apply, no decision on the rollout, until the cycles report and rebuild it; added: nothing.",
  samples: "Decides like a wrong feed: each decision records the totals that it used, for the feeder to compare.",
  rollout_rollbacks:
    "Decides like a wrong feed: each decision records the totals that it used, for the feeder to compare.",
  proposed_by_agent: "An agent may exceed or miss its `max_open` (reported and rebuilt by cycles) or `max_per_day`.",
  llm_drafts: "More drafts may wait, a rejected one may be filed again; an episode is reported once more.",
  llm_drafted: "More drafts may wait, a rejected one may be filed again; an episode is reported once more.",
  used_statements: "Removed: a signed act may be sent once more within its ten minutes.",
  erasures_due: "Removed: copies of what was erased may stay.",
  drift: "More drafts may wait, a rejected one may be filed again; an episode is reported once more.",
  guardrail_due:
    "Added: not carried out, and reported; a mark without an entry has no effect. Removed: that rollback is not ordered.",
  guardrail_marks:
    "Added: not carried out, and reported; a mark without an entry has no effect. Removed: that rollback is not ordered.",
  kpi_applied: "Removed: guardrails do not watch that change.",
  idempotency:
    "409 `evidence_mismatch` where an answer is not what the log records; removed: the request is judged again.",
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
    "A value is returned only where the log, as far as it was read, has its change applied there last; removed: the target seems to have none until `verify_audit` names it.",
  values_order:
    "A value is returned only where the log, as far as it was read, has its change applied there last; removed: the target seems to have none until `verify_audit` names it.",
  github_waiting: "Added: a deployment is answered as the log has it; removed: it waits until it is delivered again.",
  github_answered:
    "Added: a deployment stays without an answer; removed: one that is delivered again is answered again.",
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
  effects: "The value that a rollback restores is verified against the digest in the apply's entry, where it has one.",
  effect_targets:
    "The value that a rollback restores is verified against the digest in the apply's entry, where it has one.",
  file_tenants:
    "The value that a rollback restores is verified against the digest in the apply's entry, where it has one.",
};

/** Effects of editing records of the collection `meta`; editing a record that is not listed has no effect on decisions. */
export const META_EDIT_EFFECTS: Readonly<Partial<Record<keyof typeof META_RECORDS, string>>> = {
  chain: "Broken chain.",
  freeze: "None: the log's last freeze is in force, as far as it was read; named by `audit/verify`, rebuilt.",
  checkpoint:
    "A checkpoint that is not signed, or that the log does not continue, is a broken chain; the tree is rebuilt.",
  merkle: "A checkpoint that is not signed, or that the log does not continue, is a broken chain; the tree is rebuilt.",
  breach:
    "Removed: forgotten by processes that start later; added: writes are rejected until a restart finds the log sound.",
  identity: "Another product's: no start.",
  intent:
    "Exports, packs and certificates verify a text against its hash; another `update_epoch` lets an older instance write, or keeps it from it.",
};
