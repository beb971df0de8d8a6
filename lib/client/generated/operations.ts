/** Made from the OpenAPI document by .ci/build/client_types.mjs; `npm run client:types` writes it again. */

/** A field of an operation. */
export interface Field {
  type: "string" | "integer" | "number" | "boolean" | "json";
  required?: true;
  description?: string;
  choices?: readonly string[];
}

/** The API's descriptions of the operations of the command line. */
export const OPERATIONS = {
  "GET /api/product/runtime": {
    summary: "Changes and audit state",
    description: "A page of changes, newest first, with identity, intent and the newest audit entries.",
    fields: {
      before: { type: "string", description: "Only changes older than this id: `next` of the previous page." },
      limit: { type: "integer", description: "Maximum number of changes." },
      status: {
        type: "string",
        description: "Only changes of this status.",
        choices: ["proposed", "pending_consent", "approved", "applied", "rolled_back", "denied"],
      },
      tenant_id: { type: "string", description: "Only changes of this tenant." },
      entries: { type: "integer", description: "Maximum number of the newest audit entries." },
      person: { type: "string", description: "Only changes that this person has to do with, as role says." },
      role: {
        type: "string",
        description: "Role of the person; either: any. Absent: either.",
        choices: ["proposer", "asker", "approver", "denier", "decider", "either"],
      },
      proposer_kind: {
        type: "string",
        description: "Only changes of this kind of proposer.",
        choices: ["person", "agent", "model", "peer", "unknown"],
      },
      kind: {
        type: "string",
        description: "Only changes of this kind.",
        choices: ["config", "workflow", "feature_flag", "code_patch", "experiment"],
      },
      target: { type: "string", description: "Only changes of this target; * stands for any characters." },
      risk: { type: "string", description: "Only changes of this risk.", choices: ["low", "medium", "high"] },
      tier: { type: "string", description: "Only changes of this tier.", choices: ["minor", "standard", "major"] },
      kpi: { type: "string", description: "Only changes that name this KPI." },
      resolution: {
        type: "string",
        description: "Only denied changes that ended so.",
        choices: ["denied", "withdrawn", "expired", "revoked", "lapsed"],
      },
      verdict: {
        type: "string",
        description: "Only changes whose outcome has this verdict.",
        choices: ["met", "missed", "regressed", "inconclusive", "too_early"],
      },
      drifted: { type: "boolean", description: "True: only drifted changes; false: only others." },
      emergency: { type: "boolean", description: "Only changes approved in an emergency, or only others." },
      text: { type: "string", description: "Beginnings of words in its texts or names, or an id." },
      event: {
        type: "string",
        description: "Event of from and to. Absent: proposed.",
        choices: ["proposed", "consented", "decided", "approved", "denied", "applied", "rolled_back", "closed"],
      },
      from: { type: "string", description: "Only changes to which that happened then or later." },
      to: { type: "string", description: "Only changes to which it happened before." },
    },
  },
  "GET /api/product/audit": {
    summary: "Audit entries",
    description: "A page of the audit log; format=jsonl or csv gives the whole log.",
    fields: {
      limit: { type: "integer", description: "Maximum number of entries." },
      before: { type: "integer", description: "Only entries before this id." },
      after: { type: "integer", description: "Only entries after this id." },
      order: {
        type: "string",
        description: "asc: in the order of the chain; desc: newest first. A page without after is the newest.",
        choices: ["asc", "desc"],
      },
      change_id: { type: "string", description: "Only entries about this change." },
      tenant_id: { type: "string", description: "Only entries about changes of this tenant." },
      tenant: { type: "string", description: "Another name of tenant_id." },
      event_type: {
        type: "string",
        description: "Only entries of this event.",
        choices: [
          "kpi_refreshed",
          "change_proposed",
          "consent_decision",
          "change_applied",
          "change_rolled_back",
          "change_apply_failed",
          "change_rollback_failed",
          "change_drifted",
          "proposal_refused",
          "intent_in_force",
          "emergency_reviewed",
          "service_frozen",
          "service_unfrozen",
          "record_rebuilt",
          "clock_accepted",
          "content_erased",
          "note_added",
          "store_moved",
          "loss_accepted",
          "targets_in_force",
          "value_restored",
          "automation_stopped",
          "stage_advanced",
          "stage_held",
          "stage_resumed",
          "stage_stopped",
          "release_checked",
          "mandate_signed",
          "mandate_narrowed",
          "mandate_suspended",
          "mandate_resumed",
          "mandate_ended",
        ],
      },
      format: {
        type: "string",
        description: "jsonl or csv: the whole log as a file, without any filter.",
        choices: ["json", "jsonl", "csv"],
      },
      contents: { type: "boolean", description: "With format=jsonl: contents and manifests too." },
    },
  },
  "GET /api/product/audit/verify": {
    summary: "Verify the audit chain",
    description: "Recomputes the chain and compares stored changes with it; an earlier head also shows rewriting.",
    fields: {
      expected_length: { type: "integer", description: "Number of entries at your last check." },
      expected_head: { type: "string", description: "current_hash of the last entry at your last check, hex." },
    },
  },
  "POST /api/product/audit/accept-loss": {
    summary: "Accept that the log lost its end",
    description: "Accepts entries lost in a failover, and freezes the service. Earlier consents no longer count.",
    fields: {
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
      length: { type: "integer", required: true, description: "Number of entries of the log now, from audit/verify." },
      head: {
        type: "string",
        required: true,
        description: "current_hash of the last entry now, hex; 64 zeros for an empty log.",
      },
    },
  },
  "GET /api/product/changes/{change_id}": {
    summary: "One change",
    description: "A change with its entries, outcome, consents and gates.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      wait: {
        type: "integer",
        description: "Seconds to wait until the status changes, or with If-None-Match the revision.",
      },
      person: { type: "string", description: "Reader; absent: the proxy's person." },
      seen: { type: "boolean", description: "Also reads the current values of its places." },
    },
  },
  "GET /api/product/changes/{change_id}/certificate": {
    summary: "Certificate of one change",
    description: "Proves offline who consented to the content; verify with countersign-verify.",
    fields: { change_id: { type: "string", required: true, description: "Id of the change." } },
  },
  "POST /api/product/propose": {
    summary: "Propose a change",
    description: "Records a change for people to decide; a minor change needs no consent.",
    fields: {
      tenant_id: { type: "string", required: true, description: "Tenant of the product." },
      kind: {
        type: "string",
        description: "Kind of change; required without promotes.",
        choices: ["config", "workflow", "feature_flag", "code_patch", "experiment"],
      },
      target: {
        type: "string",
        description: "Setting, flag or workflow in the host product, compared without case; required without promotes.",
      },
      summary: { type: "string", required: true, description: "Summary in one line." },
      rationale: { type: "string", description: "Reason for approvers." },
      expected_delta_k: { type: "number", description: "Gain that you expect, in units of the KPI." },
      affected_users: { type: "integer", description: "How many users it reaches." },
      reversible: {
        type: "boolean",
        description: "Can be undone; absent: not stated. False makes it major; minor needs true.",
      },
      tier: {
        type: "string",
        description: "Requested tier; minor only if the intent covers it. Absent: standard.",
        choices: ["minor", "standard", "major"],
      },
      risk: {
        type: "string",
        description: "Absent: not stated, taken as medium. High is major.",
        choices: ["low", "medium", "high"],
      },
      value: { type: "json", description: "New value of the target: any JSON; in a form, JSON text." },
      sets: {
        type: "json",
        description: "Makes it a plan: values that are decided on and applied together; target is its name.",
      },
      kpi: { type: "string", description: "The KPI that expected_delta_k is about." },
      proposer: { type: "string", description: "Proposer; absent: the proxy's person, or the agent." },
      apply_when: {
        type: "string",
        description: "When it applies by itself: approved, or a time; absent: a person applies it.",
      },
      stages: { type: "json", description: "The plan of a staged rollout: docs/rollouts.md." },
      promotes: { type: "string", description: "Id of a change whose kind, target and value to copy for the tenant." },
      supersedes: { type: "string", description: "Id of an earlier change that this one revises." },
    },
  },
  "POST /api/product/approve": {
    summary: "Give consent to a pending change",
    description: "Records one person's consent; the change is approved once enough have consented.",
    fields: {
      approver: { type: "string", required: true, description: "Approver; absent: the proxy's person." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
      emergency: {
        type: "boolean",
        description: "Consent under break_glass: needs a note, and passes freeze and windows.",
      },
      seen: { type: "json", description: "Digests of the values that you saw, in the order of places." },
    },
  },
  "POST /api/product/deny": {
    summary: "Deny a pending change",
    description: "Closes a pending change; one denial is final.",
    fields: {
      approver: { type: "string", required: true, description: "Person who denies; absent: the proxy's person." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/withdraw": {
    summary: "Withdraw a pending change",
    description: "The proposer closes a pending change.",
    fields: {
      proposer: { type: "string", required: true, description: "Proposer; absent: the proxy's person, or the agent." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/revoke": {
    summary: "Revoke a consent to a change that is not applied",
    description: "An approver revokes their consent before the apply; the change is closed as denied.",
    fields: {
      approver: { type: "string", required: true, description: "Approver; absent: the proxy's person." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/apply": {
    summary: "Apply an approved change",
    description: "Sets the value of an approved change on its target system.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      dry_run: { type: "boolean", description: "Dry run: nothing is changed or recorded." },
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/rollback": {
    summary: "Roll back an applied change",
    description: "Restores the value before an applied change. dry_run changes nothing.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      dry_run: { type: "boolean", description: "Dry run: nothing is changed or recorded." },
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
      over_drift: {
        type: "boolean",
        description: "Restore over a value that another program set since; needs a note.",
      },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/restore": {
    summary: "Restore the consented value",
    description: "Sets the value of an applied change again after an edit from outside.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
    },
  },
  "POST /api/product/freeze": {
    summary: "Freeze all applies",
    description: "Blocks every apply except emergencies. Rollbacks stay possible.",
    fields: {
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
      until: { type: "string", description: "End (RFC 3339); absent: until a person lifts it." },
    },
  },
  "POST /api/product/unfreeze": {
    summary: "Lift a freeze",
    description: "Ends a freeze, so that approved changes can be applied again.",
    fields: {
      actor: { type: "string", description: "Actor; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/note": {
    summary: "Add a late note",
    description: "Adds the rationale or the note that a decided change lacks. It is marked late.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      actor: { type: "string", description: "Author; absent: the proxy's person." },
      item: {
        type: "string",
        required: true,
        description: "Item to add; each once, if missing.",
        choices: ["rationale", "note"],
      },
      note: { type: "string", required: true, description: "Text of the note." },
    },
  },
  "POST /api/product/stage": {
    summary: "Hold, resume or advance a rollout",
    description: "A hold stops advances only.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
      step: { type: "integer", required: true, description: "Current step of the rollout." },
      action: {
        type: "string",
        required: true,
        description: "Action on the rollout.",
        choices: ["hold", "resume", "advance"],
      },
      actor: { type: "string", required: true, description: "Actor; absent: the proxy's person." },
    },
  },
  "POST /api/product/kpi": {
    summary: "Feed KPIs",
    description: "Records the current KPI values. One invalid field rejects the whole feed.",
    fields: {
      actor: { type: "string", description: "Feeder; absent: the proxy's person." },
      note: { type: "string", description: "Source of the figures, for the record." },
      nrr_quarterly: { type: "number", description: "Value of nrr_quarterly now." },
      deal_win_rate: { type: "number", description: "Value of deal_win_rate now." },
      sales_cycle_days_p50: { type: "number", description: "Value of sales_cycle_days_p50 now." },
      weekly_active_sales_pct: { type: "number", description: "Value of weekly_active_sales_pct now." },
      csat: { type: "number", description: "Value of csat now." },
      incident_rate: { type: "number", description: "Value of incident_rate now." },
    },
  },
  "GET /api/product/mandates": {
    summary: "Mandates",
    description: "Mandates and drafts, oldest first.",
    fields: {
      state: {
        type: "string",
        description: "Only mandates with this status.",
        choices: ["draft", "active", "suspended", "ended"],
      },
      agent: { type: "string", description: "Only mandates of this agent." },
      limit: { type: "integer", description: "Maximum number." },
      after: { type: "string", description: "Only mandates after this id: next of the previous page." },
    },
  },
  "POST /api/product/mandates": {
    summary: "Draft a mandate",
    description: "Creates the draft of a mandate, which has no effect until people have signed it.",
    fields: {
      agent: { type: "string", required: true, description: "An agent of the intent." },
      targets: { type: "json", required: true, description: "Patterns of targets." },
      kinds: { type: "json", required: true, description: "Kinds of changes." },
      tenants: { type: "json", required: true, description: "A list, or all." },
      limits: { type: "json", description: "Limits of values: schema, max_step, unit." },
      max_affected_users: { type: "integer", description: "Most users of one change." },
      max_per_day: { type: "integer", description: "Most changes on a UTC day; absent: the policy's." },
      max_open: { type: "integer", description: "Most approved and not yet applied; absent: the policy's." },
      kpi_floor: { type: "json", description: "Values by KPI; a worse feed suspends the mandate." },
      until: { type: "string", required: true, description: "Its end." },
      from: { type: "string", description: "Begin; absent: the last signature." },
      note: { type: "string", description: "Purpose, for the signers." },
      actor: { type: "string", description: "Author; absent: the proxy's person." },
    },
  },
  "GET /api/product/mandates/{mandate_id}": {
    summary: "One mandate",
    description: "A mandate with the changes that it approved, newest first, and its entries.",
    fields: { mandate_id: { type: "string", required: true, description: "Id of the mandate." } },
  },
  "POST /api/product/mandate-sign": {
    summary: "Sign a mandate",
    description: "Signs a draft. The last required signature makes it active.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Signer; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/mandate-narrow": {
    summary: "Narrow a mandate",
    description: "Makes bounds of a signed mandate smaller.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Signer; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
      narrow: { type: "json", required: true, description: "The bounds that change." },
    },
  },
  "POST /api/product/mandate-resume": {
    summary: "Resume a mandate",
    description: "Signs the resumption of a suspended mandate; it needs the same quorum as a new one.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Signer; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/mandate-revoke": {
    summary: "Revoke a mandate",
    description: "Ends a mandate, or removes an unsigned draft. Its unapplied changes then need people's consent.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Signer; absent: the proxy's person." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "GET /api/find": {
    summary: "Find changes",
    description: "Finds changes by words and field:value terms; GET /api/find/saved lists the fields.",
    fields: {
      q: { type: "string", description: "The query; empty: every change." },
      limit: { type: "integer", description: "Maximum number of rows." },
      after: { type: "string", description: "The next of the page before." },
      tz: { type: "string", description: "The time zone in which days are read; absent: UTC." },
      person: { type: "string", description: "The caller; absent: the proxy's person, or the agent." },
    },
  },
  "GET /api/state": {
    summary: "The system's state",
    description: "E, M, R and N with inputs, goals, tasks and freeze.",
    fields: {},
  },
  "GET /api/gate": {
    summary: "Ask whether a release is consented to",
    description: "For the tool that deploys. Writes nothing.",
    fields: {
      target: {
        type: "string",
        required: true,
        description: "The release, such as `deploy/<repository id>/<environment>`.",
      },
      tenant_id: { type: "string", required: true, description: "The tenant." },
      head: { type: "string", required: true, description: "The full commit id." },
      answer: { type: "string", description: "`status`: 200, 503 or 403 says the state too.", choices: ["status"] },
    },
  },
  "POST /api/gate": {
    summary: "Ask for a release, on record",
    description: "As GET; records the answer, once for each caller and head. Needs the admin token or a CI token.",
    fields: {
      target: {
        type: "string",
        required: true,
        description: "The release, such as `deploy/<repository id>/<environment>`.",
      },
      tenant_id: { type: "string", required: true, description: "The tenant." },
      head: { type: "string", required: true, description: "The full commit id." },
      answer: { type: "string", description: "`status`: 200, 503 or 403 says the state too.", choices: ["status"] },
    },
  },
  "GET /api/product/changes/{change_id}/attestation": {
    summary: "Attestation of a change in force",
    description: "An in-toto Statement in a DSSE envelope, for cosign and other verifiers.",
    fields: { change_id: { type: "string", required: true, description: "Id of the change." } },
  },
  "GET /api/whoami": {
    summary: "Who the caller is",
    description: "The caller's name, how it is known, and allowed actions.",
    fields: {},
  },
} as const satisfies Record<string, { summary: string; description?: string; fields: Record<string, Field> }>;
