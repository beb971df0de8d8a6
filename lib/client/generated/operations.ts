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
      before: { type: "string", description: "Only changes older than this id: next of the page before." },
      limit: { type: "integer", description: "How many changes at most." },
      status: {
        type: "string",
        description: "Only changes of this status.",
        choices: ["proposed", "pending_consent", "approved", "applied", "rolled_back", "denied"],
      },
      tenant_id: { type: "string", description: "Only changes of this tenant." },
      entries: { type: "integer", description: "How many of the newest audit entries at most." },
      person: { type: "string", description: "Only changes that this person has to do with, as role says." },
      role: {
        type: "string",
        description: "What person is to them; either in any way. Absent: either.",
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
      drifted: { type: "boolean", description: "Only changes that the host shows no more, or only others." },
      emergency: { type: "boolean", description: "Only changes approved in an emergency, or only others." },
      text: { type: "string", description: "Beginnings of words in its texts or names, or an id." },
      event: {
        type: "string",
        description: "What from and to are about. Absent: proposed.",
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
      limit: { type: "integer", description: "How many entries at most." },
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
      expected_length: { type: "integer", description: "How many entries the log had when you looked last." },
      expected_head: { type: "string", description: "current_hash of its last entry then, hex." },
    },
  },
  "POST /api/product/audit/accept-loss": {
    summary: "Go on after the log lost its end",
    description: "Accepts entries lost in a failover, and freezes the service. Earlier consents no longer count.",
    fields: {
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
      length: {
        type: "integer",
        required: true,
        description: "How many entries the log has now, as audit/verify says.",
      },
      head: {
        type: "string",
        required: true,
        description: "current_hash of its last entry now, hex; 64 zeros without any.",
      },
    },
  },
  "GET /api/product/changes/{change_id}": {
    summary: "One change",
    description: "One change with its entries, outcome, consents and what blocks it.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      wait: {
        type: "integer",
        description: "Seconds to wait until the status moves, or with If-None-Match the revision.",
      },
      person: { type: "string", description: "The reader; absent: whom the proxy names." },
      seen: { type: "boolean", description: "Also reads what its places hold now." },
    },
  },
  "GET /api/product/changes/{change_id}/certificate": {
    summary: "Certificate of one change",
    description: "Proves offline who consented to what; countersign-verify checks it.",
    fields: { change_id: { type: "string", required: true, description: "Id of the change." } },
  },
  "POST /api/product/propose": {
    summary: "Propose a change",
    description: "Records a change for people to decide on; a minor one needs no consent.",
    fields: {
      tenant_id: { type: "string", required: true, description: "The tenant of the product whom the change is for." },
      kind: {
        type: "string",
        description: "Kind of change; required without promotes.",
        choices: ["config", "workflow", "feature_flag", "code_patch", "experiment"],
      },
      target: {
        type: "string",
        description: "Setting, flag or workflow in the host product, compared without case; required without promotes.",
      },
      summary: { type: "string", required: true, description: "What the change does, in one line." },
      rationale: { type: "string", description: "Why, for those who decide." },
      expected_delta_k: { type: "number", description: "Gain that you expect, in units of the KPI." },
      affected_users: { type: "integer", description: "How many users it reaches." },
      reversible: {
        type: "boolean",
        description: "Can be undone; absent: not stated. False makes it major; minor needs true.",
      },
      tier: {
        type: "string",
        description: "Consent you ask for; minor only where the intent covers it. Absent: standard.",
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
      proposer: { type: "string", description: "The proposer; absent: whom the proxy or the secret names." },
      apply_when: {
        type: "json",
        description: "When it applies by itself: approved, or a time; absent: a person applies it.",
      },
      stages: { type: "json", description: "The plan of a staged rollout: docs/rollouts.md." },
      promotes: {
        type: "string",
        description: "Id of a change whose kind, target and value this one takes for its tenant.",
      },
      supersedes: { type: "string", description: "Id of a change whose place this one takes." },
    },
  },
  "POST /api/product/approve": {
    summary: "Give consent to a pending change",
    description: "Records one person's consent; the change is approved once enough have consented.",
    fields: {
      approver: { type: "string", required: true, description: "Who consents; absent: whom the proxy names." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
      emergency: {
        type: "boolean",
        description: "Consent under break_glass: needs a note, and passes freeze and windows.",
      },
      seen: { type: "json", description: "Digests of what you saw at its places, in their order." },
    },
  },
  "POST /api/product/deny": {
    summary: "Refuse consent to a pending change",
    description: "Closes a pending change for good: one denial is enough.",
    fields: {
      approver: { type: "string", required: true, description: "Who refuses; absent: whom the proxy names." },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/withdraw": {
    summary: "Take back a pending change",
    description: "Closes a pending change at the wish of its proposer.",
    fields: {
      proposer: {
        type: "string",
        required: true,
        description: "Who proposed it; absent: whom the proxy or the secret names.",
      },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/revoke": {
    summary: "Take back one's consent to a change that is not applied",
    description: "An approver takes their consent back before the apply; the change is closed as denied.",
    fields: {
      approver: {
        type: "string",
        required: true,
        description: "Who takes their consent back; absent: whom the proxy names.",
      },
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/apply": {
    summary: "Apply an approved change",
    description: "Carries an approved change to its target system.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      dry_run: { type: "boolean", description: "Dry run: nothing is changed or recorded." },
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/rollback": {
    summary: "Roll back an applied change",
    description: "Restores what the target held before an applied change. With dry_run nothing is changed.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      dry_run: { type: "boolean", description: "Dry run: nothing is changed or recorded." },
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
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
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
    },
  },
  "POST /api/product/freeze": {
    summary: "Hold every apply back",
    description: "Blocks every apply but of emergencies. Rollbacks stay possible.",
    fields: {
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
      until: { type: "string", description: "When it ends by itself; absent: when somebody lifts it." },
    },
  },
  "POST /api/product/unfreeze": {
    summary: "Lift a freeze",
    description: "Ends a freeze, so that approved changes can be applied again.",
    fields: {
      actor: { type: "string", description: "The actor; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/note": {
    summary: "Add a late note",
    description: "Adds the rationale or the note that a decided change lacks. It is marked late.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      actor: { type: "string", description: "Who says it; absent: whom the proxy names." },
      item: {
        type: "string",
        required: true,
        description: "What it is; once each, where there is none.",
        choices: ["rationale", "note"],
      },
      note: { type: "string", required: true, description: "The words." },
    },
  },
  "POST /api/product/stage": {
    summary: "Hold, resume or advance a rollout",
    description: "A hold stops advances only.",
    fields: {
      change_id: { type: "string", required: true, description: "Id of the change." },
      note: { type: "string", description: "Why, for the record." },
      step: { type: "integer", required: true, description: "Its step." },
      action: { type: "string", required: true, description: "The act.", choices: ["hold", "resume", "advance"] },
      actor: { type: "string", required: true, description: "Who acts; absent: whom the proxy names." },
    },
  },
  "POST /api/product/kpi": {
    summary: "Feed KPIs",
    description: "Records the current KPI values. One invalid field rejects the whole feed.",
    fields: {
      actor: { type: "string", description: "Who feeds them; absent: whom the proxy names." },
      note: { type: "string", description: "Where the figures come from, for the record." },
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
        description: "Only those in this state.",
        choices: ["draft", "active", "suspended", "ended"],
      },
      agent: { type: "string", description: "Only those of this agent." },
      limit: { type: "integer", description: "How many at most." },
      after: { type: "string", description: "Only those after this id: next of the page before." },
    },
  },
  "POST /api/product/mandates": {
    summary: "Draft a mandate",
    description: "Makes the draft of a mandate, which counts for nothing before people have signed it.",
    fields: {
      agent: { type: "string", required: true, description: "An agent of the intent." },
      targets: { type: "json", required: true, description: "Patterns of targets." },
      kinds: { type: "json", required: true, description: "Kinds of changes." },
      tenants: { type: "json", required: true, description: "A list, or all." },
      limits: { type: "json", description: "Limits of values: schema, max_step, unit." },
      max_affected_users: { type: "integer", description: "Most users of one change." },
      max_per_day: { type: "integer", description: "Most changes on a UTC day; absent: the policy's." },
      max_open: { type: "integer", description: "Most approved and not yet applied; absent: the policy's." },
      kpi_floor: { type: "json", description: "Values by KPI; a worse one suspends it." },
      until: { type: "string", required: true, description: "Its end." },
      from: { type: "string", description: "Its beginning; absent: its last signature." },
      note: { type: "string", description: "Its purpose, for those who sign." },
      actor: { type: "string", description: "The author; absent: whom the proxy names." },
    },
  },
  "GET /api/product/mandates/{mandate_id}": {
    summary: "One mandate",
    description: "One mandate with the changes that it approved, newest first, and its entries.",
    fields: { mandate_id: { type: "string", required: true, description: "Id of the mandate." } },
  },
  "POST /api/product/mandate-sign": {
    summary: "Sign a mandate",
    description: "Signs a draft. With the last signature that the intent asks for it is active.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Who signs; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/mandate-narrow": {
    summary: "Narrow a mandate",
    description: "Makes bounds of a signed mandate smaller, and nothing else.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Who signs; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
      narrow: { type: "json", required: true, description: "The bounds that change." },
    },
  },
  "POST /api/product/mandate-resume": {
    summary: "Resume a mandate",
    description: "Signs the resumption of a suspended mandate; the same people must as for a new one.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Who signs; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "POST /api/product/mandate-revoke": {
    summary: "Revoke a mandate",
    description: "Ends a mandate, or removes an unsigned draft. What it approved and is not applied then needs people.",
    fields: {
      mandate_id: { type: "string", required: true, description: "Id of the mandate." },
      approver: { type: "string", required: true, description: "Who signs; absent: whom the proxy names." },
      note: { type: "string", description: "Why, for the record." },
    },
  },
  "GET /api/find": {
    summary: "Find changes",
    description: "Finds changes by words and field:value terms; GET /api/find/saved lists the fields.",
    fields: {
      q: { type: "string", description: "The query; empty: every change." },
      limit: { type: "integer", description: "How many rows at most." },
      after: { type: "string", description: "The next of the page before." },
      tz: { type: "string", description: "The time zone in which days are read; absent: UTC." },
      person: { type: "string", description: "Who asks; absent: whom the proxy names, or an agent's secret." },
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
    description: "Who asks, how that is known, and what they may do; it never refuses.",
    fields: {},
  },
} as const satisfies Record<string, { summary: string; description?: string; fields: Record<string, Field> }>;
