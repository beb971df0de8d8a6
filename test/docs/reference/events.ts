/**
 * When each event is recorded, and the members of its `detail` in addition to those of every entry: the table of docs/audit_log.md,
 * which test/docs/reference.test.ts generates from this file.
 */
import type { EventType } from "../../../lib/audit/entry.ts";

/** Sentences of Markdown. */
export const EVENT_REFERENCE: Readonly<Record<EventType, readonly [when: string, detail: string]>> = {
  intent_in_force: [
    "entry 1, and when another intent comes into force",
    "`product_id`, `version`, `update_epoch`, `approved_by`, `principals`",
  ],
  targets_in_force: [
    "the file of target systems was edited, added or removed; written before the next change",
    "`hash` (SHA-256 of the file; `null` without one), `systems` (name, type, address and templates of each, without secrets)",
  ],
  change_proposed: [
    "a change is proposed",
    "`kind`, `target`, `tier`, `tier_asked`, `tier_reason` (why it is not minor, if minor was requested), `unstated`, `sets_nothing` (`true` without a value), `apply_when` (of a change that applies automatically), `value_hint`, `stages` (shares and feeder of a rollout), `places` (where each value is set), `risk`, `kpi`, `proposer`, `proposer_kind`, `required_approvers`, `approver` (`policy:minor` of a minor change, with `minor_number`, `target_owner` and `seen`), `supersedes`, `alone`, `asked_by`, `message_id`",
  ],
  proposal_refused: [
    "a proposal on a forbidden target was rejected; those beyond 100 a day are counted in one later entry",
    "`code`, `kind`, `target`, `proposer`; or `count`, `day`",
  ],
  consent_decision: [
    "a person or a mandate approves, a person denies or withdraws a change or revokes an approval, or its time is over",
    "`decision`, `approver`, `note`, `from`, `progress` (`1 of 2`), `target_owner`, `emergency`, `review_hours`, `seen` (digests of what the approver saw), `mandate` (the one that consents: its id, `revision`, `entry`, the `number` of this consent on the day, and how many are `left`)",
  ],
  change_applied: [
    "an apply succeeded",
    "`target`, `adapter` (its name and result), `target_held`, `kpis`, `previous_digest`, `by`, `note`, `target_moved`, `emergency`, `late`, `resolved_after_interruption`, `value_moved` (places that held another value than a consent saw); for a plan also `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `previous_digest` of each target",
  ],
  change_apply_failed: [
    "an apply was rejected or failed",
    "`stage`, `error`, `host`, `rejected`, `unanswered`, `late`, `by`, `note`, `emergency`; for a plan also `sets`: the state of each target (`host`; `rolled_back` or `absent`: undone) and the error there",
  ],
  change_rolled_back: [
    "a rollback succeeded",
    "`target`, `adapter`, `target_held`, `target_holds`, `by`, `note`, `over_drift`, `evidence` (of a guardrail), `mended`, `clock`, `late`, `resolved_after_interruption`; for a plan also `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `target_holds` of each target that it still owned",
  ],
  change_rollback_failed: [
    "a rollback failed; for attempts that the service repeats, once a day for each reason",
    "`stage`, `error`, `host`, `drifted` (another program set the target), `unanswered`, `late`, `by`, `note`, `evidence`, `mended`, `clock`; for a plan also `sets`: the state of each target; a target with `target_holds` is rolled back and no longer belongs to the plan",
  ],
  change_drifted: [
    "the host product no longer has the value of an applied change",
    "`state`, `host`; for a plan also `sets`: the drifted target",
  ],
  value_restored: [
    "the value of a change is restored after an edit by another program",
    "`target`, `adapter`, `replaced_digest` (of the replaced value; null: none), `host` (the state, if the value is not there afterwards), `by`, `note`, `late`, `resolved_after_interruption`; for a plan also `sets`: `tenant_id`, `target`, `adapter`, `replaced_digest` and `host` of each target that was restored",
  ],
  stage_advanced: [
    "a rollout advances to its next step",
    "`step`, `to`, `share` (`null`: everybody), `rule`, `decision`, `reason`, `hours`, `silent`, `baseline`, `totals` (with `as_of` and feeder), `readings`; on a target system `ordered` (the id of the next entry at the time of the order), `late` or `resolved_after_interruption`",
  ],
  stage_held: [
    "a rollout begins to wait, or waits for another reason",
    "as `stage_advanced`, also `missing`, `error`; for impossible numbers `rejected`",
  ],
  stage_resumed: ["a person resumes a rollout", "`step`, `note`; after a mismatch of shares `totals`"],
  stage_stopped: ["the rule of a rollout orders its rollback", "as `stage_advanced`, also `kpi`, `at_step`"],
  release_checked: [
    "another tool asked for a release; written once for each caller, head and answer",
    "`target`, `head`, `state` (`allowed`, `waiting` or `refused`), `reasons`, `caller` (`iss`, `sub` and `run_id` of its token; absent: the admin token)",
  ],
  automation_stopped: ["a change no longer applies automatically", "`code`, `reason`"],
  emergency_reviewed: ["a person reviews a change that was approved in an emergency", "`verdict`, `approver`, `note`"],
  note_added: ["a rationale or note is added later", "`item`, `note`, `late`"],
  content_erased: ["the content of a change is erased", "`note`, `remaining_digest`"],
  kpi_refreshed: ["KPIs are fed", "`values`, `E`, `refreshed`, `tripped`, `note`"],
  service_frozen: ["a freeze stops all applies", "`note`, `until`"],
  service_unfrozen: ["a person lifts the freeze", "`note`"],
  clock_accepted: [
    "a person states that the clock is right and that the log was ahead",
    "`note`, `last` (the time of the entry before)",
  ],
  loss_accepted: [
    "a person accepts that the end of the log is lost",
    "`note`, `known` (the end before the loss; `head` null: an unknown number of entries followed), `length` and `head` (the end now), `message`",
  ],
  mandate_signed: [
    "a person signs a mandate",
    "`mandate_id`, `revision`, `status` (`draft`; `active` with the last signature), `approver`, `note`, `bounds`, `systems`, `created_at`, `draft_note`",
  ],
  mandate_narrowed: [
    "a person makes the bounds of a mandate smaller",
    "`mandate_id`, `revision`, `approver`, `note`, `narrow`",
  ],
  mandate_suspended: [
    "a change that the mandate approved is rolled back or contested, or a KPI is below its floor",
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
    "the log continues in another store",
    "`how` (`migrate`, `import` or `restore`), `from` and `to` (the stores, without passwords), `made_at` (time of the loaded file)",
  ],
};
