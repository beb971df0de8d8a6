/**
 * Cause and remedy of each error code, by the sections of docs/errors.md, which
 * test/docs/reference.test.ts makes from this.
 */
import type { ErrorCode } from "../../../lib/kit/errors.ts";

/** Sentences of Markdown: the cause of an error, and what the caller can do. */
export type CauseAndRemedy = readonly [cause: string, remedy: string];

export const ERROR_REFERENCE = {
  "Invalid requests": {
    invalid_field: [
      "A field or query parameter is missing, misspelt, unknown or not of its type, or the body is neither a form nor JSON.",
      "Correct what `fields` names; for an unknown one the message names the nearest known one. Send JSON with `content-type: application/json`; in a form, `value` is JSON text.",
    ],
    not_found: [
      "Nothing is at this path, or not on this host or without this part of the service.",
      "Look the path up at `/docs`; where an option turns the part on, the sentence names it.",
    ],
    change_not_found: [
      "There is no change of this id in this store.",
      "Check the id, and that it is the service that answered the proposal.",
    ],
    task_not_found: ["There is no task of this id, or it is too old and was dropped.", "Look at `GET /api/tasks`."],
    mandate_not_found: [
      "There is no mandate of this id, or its draft is older than seven days.",
      "Look at `GET /api/product/mandates`.",
    ],
    method_not_allowed: ["The path is there, and does not answer this method.", "Use what the header `Allow` names."],
    payload_too_large: [
      "The body is over 64 KiB; on Lambda also an answer over 6 MB.",
      "Send less: store a large value in the host product and propose its name. Ask for a large answer in pages.",
    ],
    unsupported_media_type: [
      "The body is of a type that the endpoint does not read, or has a `Content-Encoding`.",
      "Send a form or JSON, as the sentence says, without compression.",
    ],
    idempotency_key_reused: [
      "The `Idempotency-Key` was used before, with another body.",
      "A key belongs to one request: the same body for a repetition, a new key for a new request.",
    ],
    version_mismatch: [
      "The change has moved since the revision in `If-Match`.",
      "Read it again, look at what is different, and decide on that.",
    ],
  },
  Callers: {
    unauthorized: [
      "A token is missing or wrong, or this host takes no writes before it has an admin token.",
      "Send the admin token in `X-Svc-Admin-Token`, an agent's secret or the read token as `Authorization: Bearer` ([who may what](principals.md)).",
    ],
    host_not_allowed: [
      "The `Host` header names what the service does not answer to; this keeps pages of others from it.",
      "Use its address, or list the name in `--allowed-hosts`.",
    ],
    cross_site: [
      "A page of another site sent a write.",
      "Write from the service's own pages, or from a program. Behind a proxy that changes the name, list the public one in `--allowed-hosts`.",
    ],
    invalid_identity: [
      "The identity header is there twice, holds a comma, is not UTF-8, or holds no usable name.",
      "Have the proxy set exactly one header with one name, in UTF-8, in place of what the client sent.",
    ],
    identity_mismatch: [
      "The request names another person than the proxy or the host's log-in does, or an agent without its secret.",
      "Leave the name out, or send one's own.",
    ],
    person_required: [
      "The write is a person's to do, and the proxy or log-in names nobody.",
      "Use the proxy that names people.",
    ],
    agent_may_not: [
      "An agent's secret asked for what agents do not do: consent, apply, roll back and the like; for a proposal outside its `may`; or, with `read: own`, for what shows the changes of others.",
      "Have a person do it.",
    ],
    agent_required: [
      "At `/mcp` the admin token is not taken, and writing needs an agent's secret.",
      "Give the program a secret of its own in the intent ([agents.md](agents.md)), and no admin token.",
    ],
    self_approval_forbidden: [
      "The intent has `self_approval: false`, and this is the proposer, or somebody who had a part in the emergency that is reviewed.",
      "Have somebody else decide.",
    ],
    not_an_approver: [
      "The intent does not let this name decide here, or this person has given no consent that could be taken back.",
      "Ask one of `missing`, or of the intent's `approvers` and `owners`.",
    ],
    not_permitted: [
      "The intent does not let this name do this: `policy.permissions` does not list it, or the name is only claimed where the intent has principals. Without a list, lifting a freeze, erasing and accepting a clock are for approvers where the intent names any.",
      "Ask one of those whom the sentence names.",
    ],
    not_the_proposer: ["Only the proposer withdraws a change.", "Ask the proposer, or deny it."],
    proposer_unknown: [
      "Nothing but the request says who proposes or withdraws, and the name has keys, or only signatures count and nobody approves their own change.",
      "Sign it, come through the proxy that names people, or with an agent's secret.",
    ],
    proof_required: [
      "The person must sign this decision, and sent no proof; or the intent lists no key of theirs.",
      "Sign what `POST /api/product/consent-statement` answers ([signed consent](consent.md)); or have the key listed.",
    ],
    proof_invalid: [
      "The proof is not of this decision, not by a key of this person, too old, or was used already.",
      "Request the statement again and sign that; the message says what did not match.",
    ],
  },
  Rules: {
    illegal_transition: [
      "The change is in a status that does not allow this, or its time is over.",
      "Do one of `allowed`; where that is nothing, propose it again.",
    ],
    already_decided: [
      "This person has approved this change already.",
      "Nothing; their consent counts. To take it back: `POST /api/product/revoke`.",
    ],
    mandate_not_allowed: [
      "`policy.mandates` is absent or does not cover the bounds, or owners own a pattern in part.",
      "Use smaller bounds, or change the intent.",
    ],
    forbidden_target: [
      "The target is under the intent's `forbidden_targets`.",
      "Change it outside of the service, or the intent. The attempt is on record.",
    ],
    consent_incomplete: [
      "Fewer consents count than the intent in force asks for.",
      "Have those in `missing` consent; an approved change takes further ones.",
    ],
    approval_stale: [
      "The stored content is not the one whose digest was consented to.",
      "Do not apply it. Propose what is meant again, and find out who edited the store.",
    ],
    too_many_open: [
      "An agent has as many changes waiting as it may, or has proposed as many on this UTC day; `limit` says which.",
      "Have some decided, withdraw some, or wait for `Retry-After`. The intent's `principals.<agent>.may` sets the limits.",
    ],
    target_conflict: [
      "Another change of the same tenant and target waits or is approved (`on_conflict: block`).",
      "Decide the changes in `conflicts` first.",
    ],
    target_moved: [
      "Another change was applied on the target since the consent (`on_stale: block`), the configuration sets it at another place now (`places`), or a place holds another value than a consent saw (`on_moved: block`).",
      "Look at what the target holds now, and propose again.",
    ],
    target_drifted: [
      "Another program set the target after the change did, so the rollback wrote nothing; `expected` and `held` are the two values. Or the configuration gives another place than the change was applied at (`places`).",
      "Set it by hand and roll back again, or roll back with `over_drift` and a `note`.",
    ],
    rollout_in_progress: [
      "Another change is being rolled out in steps on the same target.",
      "Wait until everybody has its value, or roll it back.",
    ],
    restore_contested: [
      "The value was restored three times within an hour, and another program changed it each time. It is possible again from `contested_until` on.",
      "Find and stop the other program, or roll back with `over_drift`.",
    ],
    not_in_force: [
      "The change is not attested: its release is not allowed, it is not applied, or another change holds its target.",
      "Wait, or attest the change that is in force.",
    ],
    frozen: [
      "Somebody froze applies.",
      "Wait, or `POST /api/product/unfreeze`; `/api/state` says who froze it and why.",
    ],
    outside_window: ["The intent's `windows` are closed.", "Apply after `opens_at`."],
    content_needed: [
      "The content that is to be erased may still be put back, or an emergency of it waits for its review.",
      "Do what the sentence says first: review it, or roll a superseded change back.",
    ],
    task_not_completed: ["Only a completed task can be rated.", "Wait for its end."],
    promotion_not_ready: [
      "`policy.promotion` asks that the value is applied elsewhere first.",
      "Apply when `gates` shows no `promotion` any more.",
    ],
  },
  "Host product and operations": {
    impossible_sample: [
      "Samples of a rollout cannot be, such as more successes than users. Nothing of the feed was taken, and the rollout holds.",
      "Correct the feeder and feed possible numbers.",
    ],
    no_target_system: [
      "No target system covers the target, kind and tenant, or its key template cannot take them.",
      "Correct the target, or have the operator add a system to `--targets`.",
    ],
    value_not_allowed: [
      "The intent's `targets` do not allow the value (`path`, `rule`, `range`), or the target system cannot hold it.",
      "Propose another value, as the error says.",
    ],
    adapter_rejected: [
      "The host product says beforehand that it cannot carry the change out.",
      "Mend what the reason names; propose a corrected change where the content is at fault.",
    ],
    adapter_failed: [
      "The host product failed in an operation; `stage` and `host` say where, and how it was left.",
      "Read the audit entry for the cause, mend it, ask again; nothing is half done unnoticed.",
    ],
    operation_in_progress: [
      "An operation is under way on the change or its target, or the host has not said how one ended; or an action runs.",
      "Try again in a minute. If it stays, see that the host product answers `verify`.",
    ],
    too_many_attempts: [
      "A thousand applies of this change failed.",
      "Find out why it cannot be applied, revoke it, and propose it again.",
    ],
  },
  "Records that do not match": {
    evidence_mismatch: [
      "The stored record does not match the audit log; nothing is decided on it.",
      "Find out who wrote the store. `POST /api/action/run-now` with `action=rebuild` rebuilds the record from the log.",
    ],
    chain_broken: [
      "The audit log is broken at the named entry; every governed write is rejected.",
      "`audit/verify` says why. If the log went back, [accept the loss](operating.md#the-log-went-back); otherwise restore a backup.",
    ],
    checkpoint_untrusted: [
      "As a witness: no key that is trusted for this log signed the checkpoint.",
      "List the log's key in the file of `--witness-for`.",
    ],
    checkpoint_inconsistent: [
      "As a witness: the checkpoint is not shown to continue the one before.",
      "Send the proof from the size that was cosigned last. If there is none, the log was rewritten: both checkpoints in the log show it.",
    ],
  },
  "Temporary failures": {
    product_runtime_disabled: [
      "The service was started without a product intent.",
      "Start it with `--product-intent`.",
    ],
    intent_outdated: [
      "The log was written under a higher `update_epoch` than this instance's intent has.",
      "Start this instance with the newer intent, or stop it.",
    ],
    clock_behind: [
      "The clock is more than 24 hours behind the last entry.",
      "Set it right; if it is right, see [the way back](clock.md).",
    ],
    store_unavailable: [
      "The store cannot be written. After an operation on the host, its result is what is missing.",
      "Read the log; free space or restore the connection. A file store starts again. The host is asked what came of it. Where it says that the store moved, use the service on the other.",
    ],
    store_moved: [
      "The store was moved away, or a move of it is under way.",
      "Send the request to the service on the new store.",
    ],
    store_busy: ["Others kept the shared store busy for 5 s, or it is being copied.", "Try again after `Retry-After`."],
    too_many_streams: [
      "All readers of `/api/events` that are served at a time are there.",
      "Close some, or try again later.",
    ],
    too_many_waiting: ["All that may wait for changes at a time do.", "Ask without `wait`, or later."],
    too_many_tasks: ["All tasks that are kept are open.", "Submit it again when some have run."],
    cannot_start: [
      "On a serverless host: the service could not be opened.",
      "The sentence says why; mend it. The next request tries again.",
    ],
    interrupted: [
      "On a Worker: the object was restarted while it answered. The change may have been made.",
      "Look, or ask again under the same `Idempotency-Key`.",
    ],
    internal: [
      "A fault of the service, or a commit whose outcome the database does not say.",
      "Look the `request_id` up in the log and report it. With an `Idempotency-Key` the same request can be made again.",
    ],
    reads_busy: [
      "Another reader takes the whole log (pack, export, CSV, JSONL), or too many reads that look through many records are under way.",
      "Wait as long as `Retry-After` says. The client and the CLI do.",
    ],
  },
} as const satisfies Record<string, Partial<Record<ErrorCode, CauseAndRemedy>>>;
