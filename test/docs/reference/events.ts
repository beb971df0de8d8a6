/**
 * When each event is recorded, and the members of its `detail` in addition to those of every entry: the table of docs/audit_log.md,
 * which test/docs/reference.test.ts makes from this.
 */
import type { EventType } from "../../../lib/audit/entry.ts";

/** Sentences of Markdown. */
export const EVENT_REFERENCE: Readonly<Record<EventType, readonly [when: string, detail: string]>> = {
  intent_in_force: [
    "entry 1, and when another intent comes into force",
    "`product_id`, `version`, `update_epoch`, `approved_by`, `principals`",
  ],
  targets_in_force: [
    "before the next change, after the file of target systems was edited, added or removed",
    "`hash` (SHA-256 of the file; `null` without one), `systems` (name, type, address and templates of each, without secrets)",
  ],
  change_proposed: [
    "a change is put on record",
    "`kind`, `target`, `tier`, `tier_asked`, `tier_reason` (why it is not minor, where that was asked for), `unstated`, `sets_nothing` (`true` without a value), `apply_when` (where it applies by itself), `value_hint`, `stages` (shares and feeder of a rollout), `places` (where each value is set), `risk`, `kpi`, `proposer`, `proposer_kind`, `required_approvers`, `approver` (`policy:minor` of a minor change, with `minor_number`, `target_owner` and `seen`), `supersedes`, `alone`, `asked_by`, `message_id`",
  ],
  proposal_refused: [
    "a proposal on a forbidden target was rejected, or how many more were that day",
    "`code`, `kind`, `target`, `proposer`; or `count`, `day`",
  ],
  consent_decision: [
    "somebody approves, denies, withdraws or revokes, or the time is over",
    "`decision`, `approver`, `note`, `from`, `progress` (`1 of 2`), `target_owner`, `emergency`, `review_hours`, `seen` (digests of what the approver saw), `mandate` (of a mandate: its id, `revision`, `entry`, `number` of the day, `left`)",
  ],
  change_applied: [
    "the host product shows the change",
    "`target`, `adapter` (its name and result), `target_held`, `kpis`, `previous_digest`, `by`, `note`, `target_moved`, `emergency`, `late`, `resolved_after_interruption`, `value_moved` (places that held another value than a consent saw); of a plan `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `previous_digest` of each target",
  ],
  change_apply_failed: [
    "an apply was refused or failed",
    "`stage`, `error`, `host`, `rejected`, `unanswered`, `late`, `by`, `note`, `emergency`; of a plan `sets`: how each target was left (`host`: taken back where it is `rolled_back` or `absent`), and why it failed there",
  ],
  change_rolled_back: [
    "the host product shows it as taken back",
    "`target`, `adapter`, `target_held`, `target_holds`, `by`, `note`, `over_drift`, `evidence` (of a guardrail), `mended`, `clock`, `late`, `resolved_after_interruption`; of a plan `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `target_holds` of each target that it still owned",
  ],
  change_rollback_failed: [
    "a rollback failed; of tries that the service repeats, one a day for each reason",
    "`stage`, `error`, `host`, `drifted` (another program set the target), `unanswered`, `late`, `by`, `note`, `evidence`, `mended`, `clock`; of a plan `sets`: how each target was left; one with `target_holds` is taken back and no longer belongs to the plan",
  ],
  change_drifted: [
    "the host product shows an applied change no more",
    "`state`, `host`; of a plan `sets`: the target that it is about",
  ],
  value_restored: [
    "its value is set again after an edit from outside",
    "`target`, `adapter`, `replaced_digest` (what it replaced; null: nothing), `host` (where it does not show it after that), `by`, `note`, `late`, `resolved_after_interruption`; of a plan `sets`: `tenant_id`, `target`, `adapter`, `replaced_digest` and `host` of each target that was restored",
  ],
  stage_advanced: [
    "a rollout goes on to its next step",
    "`step`, `to`, `share` (`null`: everybody), `rule`, `decision`, `reason`, `hours`, `silent`, `baseline`, `totals` (with `as_of` and feeder), `readings`; on a target system `ordered` (the next entry's id when it was ordered), `late` or `resolved_after_interruption`",
  ],
  stage_held: [
    "the reason changes for which a rollout waits",
    "as `stage_advanced`, `missing`, `error`; of impossible numbers `rejected`",
  ],
  stage_resumed: ["a person resumes a rollout", "`step`, `note`; out of a mismatch `totals`"],
  stage_stopped: ["the rule of a rollout orders its rollback", "as `stage_advanced`, `kpi`, `at_step`"],
  release_checked: [
    "another tool asked for a release; once for each caller, head and answer",
    "`target`, `head`, `state` (`allowed`, `waiting` or `refused`), `reasons`, `caller` (`iss`, `sub` and `run_id` of its token; absent: the admin token)",
  ],
  automation_stopped: ["it no longer applies by itself", "`code`, `reason`"],
  emergency_reviewed: ["somebody reviews what was approved in an emergency", "`verdict`, `approver`, `note`"],
  note_added: ["a rationale or note is said late", "`item`, `note`, `late`"],
  content_erased: ["the content of a change is erased", "`note`, `remaining_digest`"],
  kpi_refreshed: ["KPIs are fed", "`values`, `E`, `refreshed`, `tripped`, `note`"],
  service_frozen: ["applies are held back", "`note`, `until`"],
  service_unfrozen: ["they go on", "`note`"],
  clock_accepted: [
    "somebody says that the clock is right and the log was ahead",
    "`note`, `last` (the time of the entry before)",
  ],
  loss_accepted: [
    "a person accepts that the end of the log is lost",
    "`note`, `known` (the end before; `head` null: more followed, how many is not known), `length` and `head` (the end it goes on from), `message`",
  ],
  mandate_signed: [
    "a person signs a mandate",
    "`mandate_id`, `revision`, `status` (`draft`; `active` with the last signature), `approver`, `note`, `bounds`, `systems`, `created_at`, `draft_note`",
  ],
  mandate_narrowed: ["bounds of a mandate are made smaller", "`mandate_id`, `revision`, `approver`, `note`, `narrow`"],
  mandate_suspended: [
    "a change that it approved is rolled back or contested, or a KPI is below its floor",
    "`mandate_id`, `revision`, `suspension` (`reason`; `change_id`, or `kpi` and `value`)",
  ],
  mandate_resumed: [
    "a person signs the resumption of a mandate",
    "`mandate_id`, `revision`, `status` (`suspended`; `active` with the last signature), `approver`, `note`",
  ],
  mandate_ended: [
    "a mandate is revoked, or its time is over",
    "`mandate_id`, `revision`, `reason`, `approver`, `note`",
  ],
  record_rebuilt: ["a stored record was rebuilt from the log", "`fields`"],
  store_moved: [
    "the log goes on in another store than the entry before it",
    "`how` (`migrate`, `import` or `restore`), `from` and `to` (the stores, without passwords), `made_at` (of the file that was loaded)",
  ],
};
