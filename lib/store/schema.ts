/**
 * All collections of the store. The room that writes a collection declares the type of its records (`interface Collections`);
 * the compiler checks that this list and those declarations have the same collections.
 */
import type { Collection, Meta } from "./store.ts";

/** The part of the service that writes a collection: a room of lib, or the file target. */
export type Writer =
  | "audit"
  | "changes"
  | "projection waiting"
  | "projection tally"
  | "projection growth"
  | "projection memories"
  | "projection outcomes"
  | "projection values"
  | "projections"
  | "operations"
  | "chat"
  | "link"
  | "targets"
  | "file target";

/** One collection. */
export interface CollectionSchema {
  /** The form of an id. */
  key: string;
  /** The declared type of a record, or `object` for one without a name. `Singles<T>`: each member of `T` is a record under its name. */
  record: string;
  writer: Writer;
  /** Other parts that change records, apart from the sweep of an erasure. */
  also?: readonly Writer[];
  purpose: string;
  /** When a record is removed; absent: it is stored as long as the log. */
  retention?: string;
  /**
   * How an erased content is removed from this collection: `entry`: in the transaction of the erasure; `projection`: by the
   * projection that reads `content_erased`; `sweep`: by the search for copies; `files`: when the files are written again;
   * `adapter`: by the adapter. Absent: the collection never contains such content.
   */
  erasure?: "entry" | "projection" | "sweep" | "files" | "adapter";
  /** The block of `state.json` that contains it; only for small collections, which are kept in memory. */
  block?: "product_runtime" | "co_evolution" | "tasks";
  /** True for an append-only collection with ids of 16 digits that count from 1. */
  sequence?: true;
}

// prettier-ignore
export const COLLECTIONS = {
  meta: { key: "<name>", record: "Singles<Meta>", writer: "changes", block: "product_runtime", purpose: "Single records, each written by the part that it belongs to." },
  audit: { key: "<16 digits>", record: "AuditEntry", writer: "changes", sequence: true, purpose: "The hash-chained audit log." },
  merkle: { key: "<level>/<16 digits>", record: "Tile", writer: "audit", purpose: "Tiles of the Merkle tree over the log." },
  witnesses: { key: "<verifier key>", record: "WitnessState", writer: "audit", purpose: "The last cosignature of each witness, and its last answer." },
  watched: { key: "<SHA-256 of the origin>", record: "WatchedLog", writer: "audit", purpose: "The last checkpoint of each other log that this service cosigned." },

  changes: { key: "<change_id>", record: "StoredChange", writer: "changes", erasure: "entry", purpose: "Changes with their content and the ids of their entries." },
  manifests: { key: "<manifest_hash>", record: "string", writer: "changes", purpose: "The canonical text of each intent that was in force." },
  kpi: { key: "latest", record: "Singles<{ latest: KpiState }>", writer: "changes", block: "product_runtime", purpose: "The last value of each KPI." },
  counts: { key: "refused", record: "Singles<{ refused: DayCount }>", writer: "changes", block: "product_runtime", purpose: "Rejected proposals that the log has of the day." },
  leases: { key: "<target>\\n<tenant>\\n<change_id>", record: "Lease", writer: "changes", block: "product_runtime", retention: "the end of the operation", purpose: "Operations under way on a target system." },
  live_by_target: { key: "<target>\\n<tenant>\\n<change_id>", record: "true", writer: "changes", retention: "the change ends or is applied", purpose: "Index of pending and approved changes by target." },
  live_by_agent: { key: "<agent>\\n<change_id>", record: "true", writer: "changes", retention: "the change ends or is applied", purpose: "Index of pending and approved changes by the agent that proposed them." },
  mandates: { key: "<mandate_id>", record: "MandateRecord", writer: "changes", retention: "of a draft: 7 days", purpose: "Mandates and their drafts." },
  mandates_by_agent: { key: "<agent>\\n<mandate_id>", record: "true", writer: "changes", retention: "the mandate ends", purpose: "Index of signed mandates that have not ended." },
  owners: { key: "<target>\\n<tenant>\\n<applied entry>", record: "string", writer: "changes", retention: "the change is rolled back", purpose: "Index of applied changes by target; the last one owns it." },
  set_targets: { key: "<target>\\n<tenant>\\n", record: "number", writer: "changes", purpose: "The entry of the last apply that set a value of a target, rolled back or not." },
  places: { key: "<SHA-256 of the place>", record: "LocationOwner", writer: "changes", purpose: "The first tenant and target that was set at a place of a target system." },
  release_checks: { key: "<change_id>\\n<SHA-256>", record: "true", writer: "changes", purpose: "Answers at a gate that are in the log: each is recorded once for a caller and a head." },
  review_due: { key: "<change_id>", record: "true", writer: "changes", retention: "the review", purpose: "Emergencies that wait for their review." },
  applies_due: { key: "<time>\\n<change_id>", record: "true", writer: "changes", retention: "the change is applied or ends, or its automation ends", purpose: "Index of approved changes that apply by themselves, by when they are due." },
  rollouts_running: { key: "<change_id>", record: "true", writer: "changes", retention: "the rollout ends", purpose: "Index of changes that are being rolled out in steps." },
  samples: { key: "<change_id>", record: "StoredSamples", writer: "changes", retention: "the rollout ends", purpose: "The newest totals that were fed of each step and KPI of a rollout." },
  rollout_rollbacks: { key: "<change_id>", record: "{ tries: number; from?: number; until?: number }", writer: "changes", retention: "the rollout ends", purpose: "How often the rollback of a rollout that its rule ordered has failed." },
  proposed_by_agent: { key: "<agent>", record: "DayCount", writer: "changes", purpose: "Proposals of each agent on the newest UTC day with any." },
  llm_drafts: { key: "<change_id>", record: "true", writer: "changes", retention: "the change is decided", purpose: "Drafts of models that may wait for consent." },
  llm_drafted: { key: "<SHA-256 of the effect>", record: "string", writer: "changes", purpose: "The newest draft of a model with this effect." },
  used_statements: { key: "<milliseconds>:<SHA-256>", record: "true", writer: "changes", retention: "24 hours and ten minutes", purpose: "Signed statements that are valid once." },
  erasures_due: { key: "<change_id>", record: "ErasureDue", writer: "changes", also: ["operations"], retention: "all copies are gone", purpose: "Erased contents of which copies may be stored elsewhere." },
  drift: { key: "<change_id>", record: "DriftEpisode", writer: "changes", retention: "the target shows its value again", purpose: "Applied changes whose target no longer shows what the log has." },
  guardrail_due: { key: "<change_id>", record: "DueRollback", writer: "changes", retention: "the rollback", purpose: "Rollbacks that a guardrail ordered." },
  guardrail_marks: { key: "<change_id>", record: "GuardrailEvidence", writer: "changes", purpose: "The guardrail that a change tripped last." },
  kpi_applied: { key: "<KPI or *>\\n<applied entry>", record: "WatchedChange", writer: "changes", purpose: "Reversible applied changes that guardrails watch." },
  idempotency: { key: "<UTC day>:<SHA-256 of the request>", record: "StoredAnswer", writer: "changes", retention: "24 hours", erasure: "sweep", purpose: "Answers that are repeated under their Idempotency-Key." },

  cursors: { key: "<projection>", record: "Cursor", writer: "projections", purpose: "How far each projection has read the log, and its state there." },
  sightings: { key: "<log length>", record: "{ at: string }", writer: "projections", purpose: "How late it was when a horizon passed at this length of the log." },
  ticks: { key: "<log length>", record: "{ tick: number }", writer: "operations", purpose: "The last cycle at this length of the log." },
  waiting: { key: "<status>:<change_id>", record: "number | GraveWait", writer: "projection waiting", retention: "the change is decided", purpose: "Since when changes are pending or approved." },
  successors: { key: "<change_id>:<change_id>", record: "true", writer: "projection waiting", purpose: "Changes that were proposed in place of another." },
  tally_days: { key: "<UTC day>", record: "Counts", writer: "projection tally", retention: "400 newer days", purpose: "Counts of what happened on a day." },
  tally_drafts: { key: "<target>\\n<tenant>", record: "ModelDraft", writer: "projection tally", purpose: "The newest draft of a model on a target." },
  tally_attempts: { key: "<change_id>", record: "{ day: string; failed: boolean }", writer: "projection tally", retention: "the rollback", purpose: "The day of an apply, and whether it counts as failed." },
  growth_rows: { key: "<16 digits>", record: "ActivityRow", writer: "projection growth", retention: "10,000 newer rows", purpose: "Rows of the growth log that entries make." },
  growth_rows_kinds: { key: "<kind>\\n<16 digits>", record: "true", writer: "projection growth", retention: "the row is removed", purpose: "Index of these rows by kind." },
  record_memories: { key: "<16 digits>", record: "Memory", writer: "projection memories", retention: "20,000 newer memories", erasure: "projection", purpose: "Memories of decisions and KPIs." },
  proposal_memories: { key: "<16 digits>", record: "Memory | ProposalMemory", writer: "projection memories", retention: "20,000 newer memories", erasure: "projection", purpose: "Memories of proposals." },
  outcomes: { key: "<change_id>", record: "OutcomeRecord", writer: "projection outcomes", purpose: "Expected and measured effect of applied changes." },
  outcomes_due: { key: "<moment>:<change_id>", record: "true", writer: "projection outcomes", retention: "the horizon", purpose: "Horizons of open outcomes." },
  outcomes_by_kpi: { key: "<KPI>\\n<open or over>\\n<applied entry>\\n<change_id>", record: "true", writer: "projection outcomes", purpose: "Index of outcomes by KPI." },
  outcomes_by_target: { key: "<target>\\n<tenant>", record: "string", writer: "projection outcomes", retention: "the outcome is over", purpose: "The change with an open outcome on a target." },
  outcome_rows: { key: "<16 digits>", record: "ActivityRow", writer: "projection outcomes", retention: "10,000 newer rows", purpose: "Rows of the growth log that outcomes make." },
  outcome_memories: { key: "<16 digits>", record: "Memory", writer: "projection outcomes", retention: "20,000 newer memories", erasure: "projection", purpose: "Memories of outcomes." },
  calibration: { key: "<KPI>", record: "Group[]", writer: "projection outcomes", purpose: "How well proposers foresaw the KPI, by group." },
  closed: { key: "<16 digits>", record: "string", writer: "projection outcomes", purpose: "Changes in the order in which they were over." },
  closing_days: { key: "<UTC day>", record: "Counts", writer: "projection outcomes", retention: "400 newer days", purpose: "Counts of the changes that were closed on a day." },
  kpi_days: { key: "<UTC day>", record: `Pick<KpiState, "values"> & { at: string }`, writer: "projection outcomes", purpose: "KPI values after the last feed of a day." },
  on_record: { key: "<change_id>", record: "RecordStatus", writer: "projection outcomes", purpose: "Changes that lack a rationale or note, or got one late." },
  values: { key: "<tenant>\\n<target>", record: "ValueSource", writer: "projection values", retention: "the target has no value", purpose: "The change that a target has its value from." },
  values_order: { key: "<tenant>\\n<target>\\n<applied entry>", record: "ValueSource", writer: "projection values", retention: "the rollback", purpose: "Applied changes that set a value, by target." },

  github_waiting: { key: "<deployment>\\n<SHA-256>", record: "WaitingDeployment", writer: "operations", retention: "GitHub is answered, or 30 days", purpose: "Deployments on GitHub that wait for an answer." },
  github_answered: { key: "<deployment>\\n<SHA-256>", record: "{ answer: DeploymentAnswer; at: number }", writer: "operations", retention: "30 days", purpose: "Deployments on GitHub that were answered, so that one that is delivered again is not." },
  notices: { key: "<16 digits>", record: "ActivityRow", writer: "operations", retention: "10,000 newer rows", purpose: "Rows of the growth log that no entry makes." },
  notices_kinds: { key: "<kind>\\n<16 digits>", record: "true", writer: "operations", retention: "the row is removed", purpose: "Index of these rows by kind." },
  values_days: { key: "<UTC day>", record: "Values", writer: "operations", purpose: "Effect, memory, reliability and need at the end of a day." },
  tally: { key: "tasks", record: "Singles<{ tasks: TaskCounts }>", writer: "operations", block: "tasks", purpose: "Counts of tasks." },
  tasks: { key: "<task_id>", record: "TaskRecord", writer: "operations", retention: "10,000 newer tasks that ended", erasure: "sweep", purpose: "Tasks with their reports and ratings." },
  tasks_order: { key: "<order>:<task_id>", record: "string", writer: "operations", retention: "the task is removed", purpose: "Index of tasks in running order." },
  tasks_open: { key: "<age class>:<task_id>", record: "string", writer: "operations", block: "tasks", retention: "the task ends", purpose: "When open tasks were submitted." },
  actions: { key: "<16 digits>", record: "ActionRecord", writer: "operations", retention: "500 newer runs", purpose: "Runs of actions with their results." },
  actions_running: { key: "<action>", record: "Claim", writer: "operations", retention: "the run ends", purpose: "Actions that run now." },
  evolved_files: { key: "<file name>", record: `Pick<EvolvedFile, "bytes" | "sha256" | "modified_at">`, writer: "operations", retention: "500 newer files", purpose: "Self-evolution files, where the host has no disk." },
  evolved_texts: { key: "<file name>", record: "{ text: string }", writer: "operations", retention: "500 newer files", erasure: "files", purpose: "Texts of these files." },

  chat: { key: "<16 digits>", record: "Turn", writer: "chat", retention: "20,000 newer messages", erasure: "sweep", purpose: "Messages of conversations." },
  chat_places: { key: "<conversation>\\n<16 digits>", record: "true", writer: "chat", retention: "the message is removed", purpose: "Index of messages by conversation." },
  chat_drafts: { key: "<16 digits>", record: "UnconfirmedDraft", writer: "chat", retention: "100 newer drafts", erasure: "sweep", purpose: "Drafts of a model that wait for a person to confirm them." },
  memories: { key: "<16 digits>", record: "Memory", writer: "chat", retention: "20,000 newer memories", erasure: "sweep", purpose: "Memories of feedback and insights." },
  chat_memories: { key: "<16 digits>", record: "Memory", writer: "chat", retention: "20,000 newer memories", erasure: "sweep", purpose: "Memories of conversations." },

  co_evolution: { key: "<insight_id>", record: "Insight", writer: "link", block: "co_evolution", retention: "500 more useful insights", purpose: "Insights of peers." },
  peers: { key: "<peer_id>", record: "PeerRecord", writer: "link", block: "co_evolution", retention: "200 peers seen later", purpose: "Peers that this node has met." },
  insights_shared: { key: "<16 digits>", record: "SharedRecord", writer: "link", retention: "500 newer insights", purpose: "Insights that this node shares." },

  effects: { key: "<change_id>", record: "EffectRecord", writer: "targets", erasure: "adapter", purpose: "What each change replaced on its target system, so that a rollback restores it." },
  effect_targets: { key: "<target>\\n<tenant>\\n<SHA-256 of the place>", record: "EffectTarget", writer: "targets", purpose: "The change that holds each target of a target system." },
  file_tenants: { key: "<tenant>", record: "{ made: boolean }", writer: "file target", purpose: "Tenants whose object in the product config file the service made." },
} as const satisfies Record<Collection, CollectionSchema>;

/** A single record of the collection `meta`. */
export type RecordSchema = Pick<CollectionSchema, "record" | "writer" | "also" | "purpose">;

// prettier-ignore
export const META_RECORDS = {
  identity: { record: "Identity", writer: "changes", purpose: "The product and instance that the store belongs to." },
  chain: { record: "ChainHead", writer: "changes", purpose: "The end of the log; each governed write reads and replaces it." },
  intent: { record: "{ manifest_hash: string }", writer: "changes", purpose: "The intent in force." },
  targets: { record: "{ hash: string }", writer: "changes", purpose: "The configuration of target systems in force." },
  freeze: { record: "Freeze", writer: "changes", purpose: "The freeze." },
  drift: { record: "DriftCheck", writer: "changes", purpose: "Where the round over managed places continues, and since when all were verified." },
  contested: { record: "{ noticed: Readonly<Record<string, string>> }", writer: "operations", purpose: "Contested values that were noticed, and until when they are not restored." },
  erased: { record: "{ entry: number }", writer: "changes", purpose: "The newest entry that erased a content." },
  clock: { record: "object", writer: "changes", purpose: "Clock samples of scheduled cycles." },
  breach: { record: "StoredBreach", writer: "audit", also: ["changes", "operations"], purpose: "Why the log is broken, while it is." },
  anchor: { record: "AnchorState", writer: "audit", purpose: "The checkpoint that was anchored last, and why the newest is not." },
  checkpoint: { record: "StoredCheckpoint", writer: "audit", purpose: "The last checkpoint." },
  merkle: { record: "StoredTree", writer: "audit", purpose: "How far the Merkle tree has grown." },
  expunged: { record: "{ at: number }", writer: "operations", purpose: "When the store last removed obsolete records." },
  tick: { record: "{ tick: number; at: string }", writer: "operations", purpose: "The last cycle." },
  notices: { record: "BufferState", writer: "operations", purpose: "Bounds of the collection notices." },
  actions: { record: "BufferState", writer: "operations", purpose: "Bounds of the collection actions." },
  values: { record: "Values", writer: "operations", purpose: "Effect, memory, reliability and need of the last cycle." },
  noticed: { record: "NoticedFacts", writer: "operations", purpose: "What the growth log reported last, so that it repeats nothing." },
  mismatches: { record: "object", writer: "operations", purpose: "Mismatched changes that were reported." },
  expiring: { record: "AnnouncedChanges", writer: "operations", purpose: "The last change whose expiry was announced, by status." },
  reported: { record: "{ week: string }", writer: "operations", purpose: "The last week with a weekly report." },
  retrospectives: { record: "{ seq: number }", writer: "operations", purpose: "The last closed change with a retrospective." },
  audit_export: { record: "AuditExportCursor", writer: "operations", purpose: "How far audit entries were exported." },
  github_sweeps: { record: "Readonly<Record<string, Sweep>>", writer: "operations", purpose: "By gate, how far GitHub's deliveries were searched for lost ones." },
  notify: { record: "EventCursor", writer: "operations", purpose: "How far notifications were sent." },
  write_probe: { record: "{ at: string }", writer: "operations", purpose: "The last proof that writes are taken." },
  memories: { record: "UserMemoryState", writer: "chat", purpose: "Bounds of the collections memories and chat_memories." },
  chat: { record: "BufferState", writer: "chat", purpose: "Bounds of the collection chat." },
  chat_drafts: { record: "BufferState", writer: "chat", purpose: "Bounds of the collection chat_drafts." },
  chat_provenance: { record: "z.infer<typeof provenanceSchema>", writer: "chat", purpose: "Who worded the last answer of the chat." },
  peer_id: { record: "{ peer_id: string }", writer: "link", purpose: "The name of this node on the link." },
  co_evolution: { record: "RejectedCounts", writer: "link", purpose: "Counts of insights that were not stored." },
  insights_shared: { record: "{ last: number }", writer: "link", purpose: "The newest number of an own insight." },
} as const satisfies Record<keyof Meta, RecordSchema>;

/** The collections in which the sweep of an erasure looks for copies. */
export type SweptCollection = {
  [C in Collection]: (typeof COLLECTIONS)[C] extends { erasure: "sweep" } ? C : never;
}[Collection];
