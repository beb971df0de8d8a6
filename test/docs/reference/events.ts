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
    "`hash`, `systems`",
  ],
  change_proposed: [
    "a change is proposed",
    "`kind`, `target`, `tier`, `tier_asked`, `tier_reason`, `unstated`, `sets_nothing`, `apply_when`, `value_hint`, `stages`, `places`, `risk`, `kpi`, `proposer`, `proposer_kind`, `required_approvers`, `supersedes`, `alone`, `asked_by`, `message_id`; of a minor change also `approver` (`policy:minor`), `minor_number`, `target_owner` and `seen`",
  ],
  proposal_refused: [
    "a proposal on a forbidden target was rejected; those beyond 100 a day are counted in one later entry",
    "`code`, `kind`, `target`, `proposer`; or `count`, `day`",
  ],
  consent_decision: [
    "a person or a mandate approves, a person denies or revokes an approval, the proposer withdraws, or the change's time is over",
    "`decision`, `approver`, `note`, `from`, `progress`, `target_owner`, `emergency`, `review_hours`, `seen`, `mandate`",
  ],
  change_applied: [
    "an apply succeeded",
    "`target`, `adapter`, `target_held`, `kpis`, `previous_digest`, `by`, `note`, `target_moved`, `value_moved`, `emergency`, `late`, `resolved_after_interruption`; for a plan also `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `previous_digest` of each target",
  ],
  change_apply_failed: [
    "an apply was rejected or failed",
    "`stage`, `error`, `host`, `rejected`, `unanswered`, `late`, `by`, `note`, `emergency`; for a plan also `sets`: the `host`, and the error, of each target",
  ],
  change_rolled_back: [
    "a rollback succeeded",
    "`target`, `adapter`, `target_held`, `target_holds`, `by`, `note`, `over_drift`, `evidence`, `mended`, `clock`, `late`, `resolved_after_interruption`; for a plan also `sets`: `tenant_id`, `target`, `adapter`, `target_held` and `target_holds` of each target that the plan still owned",
  ],
  change_rollback_failed: [
    "a rollback failed; for attempts that the service repeats, once a day for each reason",
    "`stage`, `error`, `host`, `drifted`, `unanswered`, `late`, `by`, `note`, `evidence`, `mended`, `clock`; for a plan also `sets`: the state of each target (one that has `target_holds` was rolled back, and no longer belongs to the plan)",
  ],
  change_drifted: [
    "the host product no longer has the value of an applied change",
    "`state`, `host`; for a plan also `sets`: the drifted target",
  ],
  value_restored: [
    "the value of a change is restored after an edit by another program",
    "`target`, `adapter`, `replaced_digest`, `host` (only if the value is not there afterwards), `by`, `note`, `late`, `resolved_after_interruption`; for a plan also `sets`: `tenant_id`, `target`, `adapter`, `replaced_digest` and `host` of each target that was restored",
  ],
  stage_advanced: [
    "a rollout advances to its next step",
    "`step`, `to`, `share`, `rule`, `decision`, `reason`, `hours`, `silent`, `baseline`, `totals`, `readings`; on a target system also `ordered`, `late` or `resolved_after_interruption`",
  ],
  stage_held: [
    "a rollout begins to wait, or waits for another reason",
    "as `stage_advanced`, without `to` and `share`; also `missing`, `error`, `rejected`",
  ],
  stage_resumed: ["a person resumes a rollout", "`step`, `note`; `totals` after a mismatch of shares"],
  stage_stopped: ["the rule of a rollout orders its rollback", "as `stage_advanced`, also `kpi`, `at_step`"],
  release_checked: [
    "another tool asked for a release; written once for each caller, head and answer",
    "`target`, `head`, `state`, `reasons`, `caller`",
  ],
  automation_stopped: ["a change no longer applies automatically", "`code`, `reason`"],
  emergency_reviewed: ["a person reviews a change that was approved in an emergency", "`verdict`, `approver`, `note`"],
  note_added: ["a rationale or note is added later", "`item`, `note`, `late`"],
  content_erased: ["the content of a change is erased", "`note`, `remaining_digest`"],
  kpi_refreshed: ["KPIs are fed", "`values`, `E`, `refreshed`, `tripped`, `note`"],
  service_frozen: ["a freeze stops all applies", "`note`, `until`"],
  service_unfrozen: ["a person lifts the freeze", "`note`"],
  clock_accepted: ["a person states that the clock is right and that the log was ahead", "`note`, `last`"],
  loss_accepted: [
    "a person accepts that the end of the log is lost",
    "`note`, `known`, `length` and `head` (the end now), `message`",
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
    "a rollback (even failed) or contested drift of a change that the mandate approved; or a KPI worse than its floor",
    "`mandate_id`, `revision`, `suspension`",
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
    "`how`, `from` and `to` (the stores, without passwords), `made_at`",
  ],
};

/** Members of a `detail` whose name does not say what they are, in the order of the alphabet. */
export const MEMBER_REFERENCE: Readonly<Record<string, string>> = {
  adapter: "name of the target system and its result; `null`: the value is only recorded",
  alone: "`true`: no other change of the target was open (only under `on_conflict: block`)",
  apply_when: "of a change that applies automatically: `approved`, or the time",
  asked_by: "the person who asked a model for the proposal",
  baseline: "of a rollout: the entry of the resume after a mismatch; totals count from there",
  bounds: "the bounds of the mandate",
  by: "who ordered it: a person whom the proxy names, or the service itself, such as `policy:guardrail`",
  caller: "`iss`, `sub` and `run_id` of the other tool's token; absent: it sent the admin token",
  clock:
    "the time by the service's clock, if that is far behind the log; the entry then has the time of the one before",
  decision:
    "of a person: `approved`, `denied`, `revoked` and the like; of the rule of a rollout: `advance`, `hold` or `rollback`",
  drifted: "`true`: another program set the target, so the rollback wrote nothing",
  E: "[effect](pulse.md) after the feed",
  emergency: "`true`: a consent in an emergency, or an apply after such consents",
  evidence: "of a guardrail: the values and the feed by which it ordered the rollback",
  fields: "names of the fields that differed",
  from: "status before the decision, if it was not `pending_consent`",
  head: "of a release: the commit; else `current_hash` of the last entry",
  host: "state of the change on the target system: `applied`, `rolled_back`, `absent` or `unknown`",
  hours: "hours since the step began",
  how: "`migrate`, `import` or `restore`",
  item: "the missing item that was added: `rationale` or `note`",
  known: "the end of the log before the loss; its `head` is `null` if an unknown number of entries followed",
  last: "time of the entry before",
  late: "`true`: the result of an operation that an earlier entry records as failed; of a note: added after the decision",
  made_at: "when the loaded file was made",
  mandate:
    "the mandate that consents: its id, `revision` and `entry`, the `number` of this change on the day, and how many are `left`",
  mended: "fields in which the stored record did not match the log; the operation used the log",
  message_id: "the chat message that asked for a model's draft",
  minor_number: "number of the minor change on its day",
  missing: "of a rollout that cannot advance: what is missing, such as consents",
  ordered: "the advance was ordered before the entry with this id",
  over_drift: "`true`: the rollback replaced the value that another program had set",
  places: "where each value is set",
  previous_digest: "SHA-256 of the value that the apply replaced; `null`: there was none",
  progress: "such as `1 of 2` consents",
  readings: "figures of each KPI and step that the rule computed",
  refreshed: "`true`: one of the fed KPIs counts in the effect",
  rejected: "of an apply: `true` if the target system rejects the change; of a rollout: the impossible samples",
  remaining_digest: "SHA-256 of the content that remains",
  replaced_digest: "SHA-256 of the value that the restore replaced; `null`: there was none",
  resolved_after_interruption: "`true`: the process ended before it had the result, which was asked for later",
  review_hours: "hours within which the emergency must be reviewed",
  rule: "the rule of the rollout, `cs1`",
  seen: "SHA-256 of the values that the approver saw",
  sets_nothing: "`true`: the change has no value",
  share: "share of the users, of 10,000; `null`: everybody",
  silent: "hours since the KPI that was fed least recently",
  stage:
    "the step at which the operation failed: `consent`, `validate`, `apply`, `verify`, `rollback` or `interrupted`",
  stages: "shares of a rollout's steps, and who feeds its samples",
  state: "of a release: `allowed`, `waiting` or `refused`; of drift: `drifted` or `missing`",
  suspension: "`reason`; with it `change_id`, or `kpi` and `value`",
  systems: "of target systems: name, type, address and templates of each, without secrets",
  target_held: "of an apply: the change in force before it; of a rollback: the newest earlier change still applied",
  target_holds: "the change in force on the target after a rollback",
  target_moved: "the changes in force on the target at the consent (`before`) and at the apply (`now`), if they differ",
  target_owner: "the change in force on the target at the decision",
  tier_asked: "the tier that the proposer requested",
  tier_reason: "why the change is not minor, if minor was requested",
  to: "of a rollout: the next step",
  totals: "the totals that the decision used (users, sums of values), with time and feeder",
  tripped: "changes whose guardrail the feed tripped",
  unanswered: "`true`: the target system gave no answer, so the operation may still take effect",
  unstated: "fields that the proposer did not state; they have default values",
  value_hint: "warning that an agent's value is text that looks like JSON",
  value_moved: "places that had another value than a consent saw",
  verdict: "of a review: `accepted` or `not_accepted`",
};
