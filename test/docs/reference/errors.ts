/** Cause and remedy of each error code, by section of docs/errors.md. test/docs/reference.test.ts generates its tables from this file. */
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
      "There is no such path, or this host or configuration does not provide it.",
      "Look the path up at `/docs`. If an option turns it on, the message names the option.",
    ],
    change_not_found: [
      "This store has no change with this id.",
      "Check the id, and that you ask the service that took the proposal.",
    ],
    task_not_found: ["There is no task with this id, or it was old and was dropped.", "Look at `GET /api/tasks`."],
    mandate_not_found: [
      "There is no mandate with this id, or its draft is older than seven days.",
      "Look at `GET /api/product/mandates`.",
    ],
    method_not_allowed: [
      "The path exists, but does not accept this method.",
      "Use a method that the header `Allow` lists.",
    ],
    payload_too_large: [
      "The request body is over 64 KiB, or on Lambda the response is over 6 MB (behind a load balancer 1 MB).",
      "Store a large value in the host product and propose its name. Request a large response in pages.",
    ],
    unsupported_media_type: [
      "The endpoint does not accept this content type, or the body has a `Content-Encoding`.",
      "Send a form or JSON, as the message says, without compression.",
    ],
    idempotency_key_reused: [
      "The `Idempotency-Key` was used before, with another body.",
      "Send the same body when you repeat a request, and a new key with a new request.",
    ],
    version_mismatch: [
      "The change has a newer revision than the one in `If-Match`.",
      "Read the change again, see what is different, and send the request with the new revision.",
    ],
  },
  Callers: {
    unauthorized: [
      "The token is missing or wrong, or this host accepts no writes until it has an admin token.",
      "Send the admin token in `X-Svc-Admin-Token`, an agent's secret or the read token as `Authorization: Bearer` ([who may do what](principals.md)).",
    ],
    host_not_allowed: [
      "The `Host` header has a name that the service does not serve. This protects it from DNS rebinding by other sites.",
      "Use its address, or list the name in `--allowed-hosts`.",
    ],
    cross_site: [
      "A page of another site sent a write.",
      "Send writes from the service's own pages or from a program. Behind a proxy that changes the host name, list the public name in `--allowed-hosts`.",
    ],
    invalid_identity: [
      "The identity header is sent twice, contains a comma, is not UTF-8, or contains no usable name.",
      "Let the proxy overwrite the header with exactly one name, in UTF-8.",
    ],
    identity_mismatch: [
      "The request names another person than the proxy or the host's log-in, or it names an agent without the agent's secret.",
      "Leave the name out, or send your own.",
    ],
    person_required: [
      "Only a person may do this, and the proxy or log-in names nobody.",
      "Send the request through the proxy that names people.",
    ],
    agent_may_not: [
      "Agents may not consent, apply or roll back, nor propose outside their `may`. With `read: own` they may not read the changes of others.",
      "Ask a person to do it.",
    ],
    agent_required: [
      "`/mcp` does not accept the admin token, and writes there need an agent's secret.",
      "Give the program its own secret in the intent ([agents.md](agents.md)), and no admin token.",
    ],
    self_approval_forbidden: [
      "The intent has `self_approval: false`, and this person proposed the change or took part in the emergency under review.",
      "Ask somebody else to decide.",
    ],
    not_an_approver: [
      "The intent does not let this name decide here, or this person has no consent to revoke.",
      "Ask a person in `missing`, or one of the intent's `approvers` and `owners`.",
    ],
    not_permitted: [
      "`policy.permissions` does not list this name, or the intent has principals and the name is only claimed. Without a list, only approvers, if the intent names any, may lift a freeze, erase, or accept a clock.",
      "Ask a person whom the message names.",
    ],
    not_the_proposer: ["Only the proposer may withdraw a change.", "Ask the proposer, or deny the change."],
    proposer_unknown: [
      "The proposer is only claimed in the request. That is not enough if the name has keys, or if `signed_only` applies with `self_approval: false`.",
      "Sign the request, send it through the proxy that names people, or use an agent's secret.",
    ],
    proof_required: [
      "The person must sign this decision, but the request has no proof, or the intent lists no key of this person.",
      "Sign the response of `POST /api/product/consent-statement` ([signed consent](consent.md)), or have the key listed.",
    ],
    proof_invalid: [
      "The proof is for another decision or by another person's key, or it is too old or was used already.",
      "Request the statement again and sign it. The message says what did not match.",
    ],
  },
  Rules: {
    illegal_transition: [
      "The status of the change does not allow this, or the change has expired.",
      "Use one of the actions in `allowed`. If the list is empty, propose the change again.",
    ],
    already_decided: [
      "This person has approved this change already.",
      "Nothing to do: the consent counts. To revoke it: `POST /api/product/revoke`.",
    ],
    mandate_not_allowed: [
      "`policy.mandates` is absent or does not cover the bounds, or a pattern is owned only in part.",
      "Use smaller bounds, or change the intent.",
    ],
    forbidden_target: [
      "The intent's `forbidden_targets` include the target.",
      "Change the value outside the service, or change the intent. The attempt is in the audit log.",
    ],
    consent_incomplete: [
      "The change has fewer valid consents than the current intent requires.",
      "Ask the people in `missing` to consent. An approved change accepts further consents.",
    ],
    approval_stale: [
      "The stored content does not match the digest that people consented to.",
      "Do not apply the change. Propose it again, and find out who edited the store.",
    ],
    too_many_open: [
      "An agent has reached its limit of waiting changes or of proposals per UTC day. `limit` says which.",
      "Get some changes decided, withdraw some, or wait for `Retry-After`. The intent's `principals.<agent>.may` sets the limits.",
    ],
    target_conflict: [
      "Another change of the same tenant and target is waiting or approved (`on_conflict: block`), or the place belongs to another target.",
      "Decide the changes in `conflicts` first, or give the target another place in `--targets`.",
    ],
    target_moved: [
      "Another change was applied on the target since the consent (`on_stale: block`), the configuration now names another location (`places`), or a location has another value than at the time of a consent (`on_moved: block`).",
      "Look at the target's current value, and propose again.",
    ],
    target_drifted: [
      "Another program set the target after the apply, so the rollback wrote nothing; `expected` and `held` are the two values. Or the configuration names another location than at the apply (`places`).",
      "Restore the value by hand and roll back again, or roll back with `over_drift` and a `note`.",
    ],
    rollout_in_progress: [
      "Another change is being rolled out in steps on the same target.",
      "Wait until the rollout is complete, or roll it back.",
    ],
    restore_contested: [
      "The value was restored three times within an hour, and another program changed it each time. The next restore is possible at `contested_until`.",
      "Find and stop the other program, or roll back with `over_drift`.",
    ],
    not_in_force: [
      "The change cannot be attested: its release is not allowed, it is not applied, or another change set its target.",
      "Wait, or attest the change that is in force.",
    ],
    frozen: [
      "Somebody has frozen all applies.",
      "Wait, or `POST /api/product/unfreeze`; `/api/state` says who froze it and why.",
    ],
    outside_window: ["The intent's `windows` are closed.", "Apply after `opens_at`."],
    content_needed: [
      "A rollback may still need this content, or its emergency approval is not reviewed yet.",
      "First do what the message says: review the emergency, or roll back a superseded change.",
    ],
    task_not_completed: ["Only a completed task can be rated.", "Wait until the task is completed."],
    promotion_not_ready: [
      "`policy.promotion` requires that the value is applied elsewhere first.",
      "Apply when `gates` no longer lists `promotion`.",
    ],
  },
  "Host product and operations": {
    impossible_sample: [
      "Samples of a rollout are impossible, such as more successes than users. The whole feed was rejected, and the rollout does not advance.",
      "Correct the program that feeds the samples, and feed them again.",
    ],
    no_target_system: [
      "No target system covers the target, kind and tenant, or its key template cannot represent them.",
      "Correct the target, or ask the operator to add a system to `--targets`.",
    ],
    value_not_allowed: [
      "The intent's `targets` do not allow the value (`path`, `rule`, `range`), or the target system cannot store it.",
      "Propose a value that the message allows.",
    ],
    adapter_rejected: [
      "The host product reports, before anything is written, that it cannot apply the change.",
      "Fix what the reason names. If the content is wrong, propose a corrected change.",
    ],
    adapter_failed: [
      "An operation on the host product failed; `stage` says in which step, and `host` in which state it was left.",
      "Read the audit entry for the cause, fix it, and send the request again. The entry shows if the target was left changed.",
    ],
    operation_in_progress: [
      "An operation on the change or its target is running, or it ended and the host product has not reported how. Or an action of `run-now` is running.",
      "Try again in a minute. If the error persists, check that the host product answers `verify`.",
    ],
    too_many_attempts: [
      "A thousand applies of this change have failed.",
      "Find out why the change cannot be applied, revoke it, and propose it again.",
    ],
  },
  "Records that do not match": {
    evidence_mismatch: [
      "The stored record does not match the audit log, so the service does not act on it.",
      "Find out who edited the store. `POST /api/action/run-now` with `action=rebuild` rebuilds the record from the log.",
    ],
    chain_broken: [
      "The hash chain of the audit log breaks at the named entry. Every governed write is rejected.",
      "`audit/verify` says why. If the log lost its newest entries, [accept the loss](operating.md#the-log-went-back); otherwise restore a backup.",
    ],
    checkpoint_untrusted: [
      "As a witness: the checkpoint is not signed by a key that is trusted for this log.",
      "List the log's key in the `--witness-for` file.",
    ],
    checkpoint_inconsistent: [
      "As a witness: no proof shows that the checkpoint continues the previous one.",
      "Send the consistency proof from the size that was cosigned last. If there is no such proof, the log was rewritten, and both checkpoints in the service's log show it.",
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
      "The clock is more than 24 hours behind the newest entry.",
      "Correct the clock. If it is correct, see [how to accept it](clock.md).",
    ],
    store_unavailable: [
      "The store cannot be written. If an operation on the host product had already run, only its result is unrecorded.",
      "Read the service's log, and free disk space or restore the connection. A file store recovers without a restart. The service later asks the host product for an unrecorded result. If the message says that the store was moved, use the service on the new store.",
    ],
    store_moved: ["The store was moved, or is being moved.", "Send the request to the service on the new store."],
    store_busy: [
      "Other processes kept the shared store busy for 5 s, or the store is being copied.",
      "Try again after `Retry-After`.",
    ],
    too_many_streams: [
      "`/api/events` already has the maximum number of readers.",
      "Close some streams, or try again later.",
    ],
    too_many_waiting: [
      "The maximum number of requests already waits for changes.",
      "Send the request without `wait`, or later.",
    ],
    too_many_tasks: [
      "The task list is full, and every task in it is still open.",
      "Submit the task again when some have run.",
    ],
    cannot_start: [
      "On a serverless host: the service could not start.",
      "Fix what the message names. The next request tries to start again.",
    ],
    interrupted: [
      "On a Worker: the object was restarted while it processed the request. The write may have happened.",
      "Read the change, or send the request again with the same `Idempotency-Key`.",
    ],
    internal: [
      "The service has a fault, or the database did not report the outcome of a commit.",
      "Look the `request_id` up in the service's log and report it. With an `Idempotency-Key` you can repeat the request.",
    ],
    reads_busy: [
      "Another caller is reading the whole log (pack, export, CSV, JSONL), or too many large scans are running.",
      "Wait as long as `Retry-After` says. The client and the CLI do so.",
    ],
  },
} as const satisfies Record<string, Partial<Record<ErrorCode, CauseAndRemedy>>>;
