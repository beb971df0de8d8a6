/** Describes entries of the audit log in words. No file outside this folder puts events into words. */
import type { AuditEntry, EventType } from "../audit/entry.ts";
import { parseDetail } from "../changes/rules/event.ts";
import { describeRegression } from "../changes/rules/kpi_words.ts";
import { label } from "../kit/quote.ts";
import { actorPart, type Facts, recordedPart, momentText, readText, phraseIf, toWords } from "./facts.ts";
import { MANDATE_WORDS } from "./mandates.ts";
import { nameChange, nameProposer } from "./names.ts";
import { capitalize, type Part } from "./part.ts";
import { ROLLOUT_WORDS } from "./rollouts.ts";

/** An entry to describe; `detail` is the stored text or the parsed object. */
export type DescribableEntry = { event_type: string; detail: string | object } & Partial<Pick<AuditEntry, "tenant">>;

export interface Description {
  /** Name of the change, if one was passed: `“Raise the seat limit” (limits.seats for tenant t-100)`. */
  changeName: Part[];
  /** `approved by ana in an emergency, 1 of 2 consents` */
  event: Part[];
  /** The stated reason, the error, or the measurement of a guardrail. */
  reason?: Part;
  /** State of the target after an operation, as a sentence without a full stop; may be empty. */
  targetState: Part[];
}

interface Wording {
  /** Heading for the type of event. */
  name: string;
  words(facts: Facts, tenant: string): Part[];
  targetState?(facts: Facts): Part[];
}

/** Shown characters of a commit id. */
const SHOWN_COMMIT_LENGTH = 12;

const DECISION_WORDS = new Map(
  Object.entries({
    approved: "approved",
    denied: "denied",
    withdrawn: "withdrawn",
    revoked: "consent revoked",
    expired: "expired before it was approved",
    lapsed: "lapsed, approved but not applied in time",
  }),
);
const DECISIONS_BY_TIME: readonly string[] = ["expired", "lapsed"];

/** Describes how many of the consents that the tier needs were given: `, 1 of 2 consents`; empty if the entry counts none. */
function describeQuorum(facts: Facts): string {
  const progress = readText(facts, "progress");
  const [received, needed] = (/^(\d+) of (\d+)$/.exec(progress) ?? []).slice(1).map(Number);
  if (received === undefined || needed === undefined) return "";
  const count =
    received > needed
      ? `${received} consents, ${needed} needed`
      : `${progress} ${needed === 1 ? "consent" : "consents"}`;
  // Once the tier has its consents, only missing ones of owners prevent the approval.
  const waitsForOwners = received >= needed && readText(facts, "status") === "pending_consent";
  return `, ${count}${waitsForOwners ? "; owners must still consent" : ""}`;
}

function describeDecision(facts: Facts): Part[] {
  const decision = readText(facts, "decision");
  return [
    DECISION_WORDS.get(decision) ?? "decision recorded",
    ...(DECISIONS_BY_TIME.includes(decision) ? [] : actorPart(facts, "approver")),
    phraseIf(facts, "emergency", " in an emergency"),
    describeQuorum(facts),
  ];
}

function describeProposal(facts: Facts): Part[] {
  const tier = readText(facts, "tier");
  const requestedTier = readText(facts, "tier_asked");
  const names = { proposer: readText(facts, "proposer"), asked_by: readText(facts, "asked_by") };
  return [
    "proposed",
    ...(names.proposer ? [" by ", ...nameProposer({ ...names, proposer_kind: facts["proposer_kind"] as never })] : []),
    // With `asked_by`: "proposed by the model m, asked by ana, as a major change".
    ...recordedPart(facts, names.asked_by ? ", as a " : " as a ", "tier", " change"),
    ...(requestedTier === tier ? [] : recordedPart(facts, ", requested as ", "tier_asked")),
    ...recordedPart(facts, ", in place of ", "supersedes"),
    tier === "minor" ? ", approved by the intent" : "",
  ];
}

const describeCircumstances = (facts: Facts): string =>
  [
    phraseIf(facts, "emergency", " in an emergency"),
    phraseIf(facts, "target_moved", ", although its target had moved since the consent"),
    phraseIf(facts, "late", ", which the host product reported late"),
    phraseIf(facts, "resolved_after_interruption", ", found after an interruption"),
  ].join("");

const describeFailure =
  (operation: string) =>
  (facts: Facts): Part[] => {
    const requester = actorPart(facts, "actor", "by");
    return [
      `${operation} failed`,
      ...recordedPart(facts, " in ", "stage"),
      ...(requester.length === 0 ? [] : [", requested", ...requester]),
      describeCircumstances(facts),
    ];
  };

function adapterState({ adapter }: Facts): Part[] {
  if (adapter === undefined) return [];
  if (adapter === null) return ["there is no adapter, so the record alone changed"];
  const { name, result } = adapter as Record<string, unknown>;
  const isWord = typeof result === "string" && /^[a-z_]{1,40}$/.test(result);
  return ["the ", { text: String(name) }, " adapter reports ", isWord ? toWords(result) : { text: String(result) }];
}

const OPERATION_STATES = new Map(
  Object.entries({
    applied: "the host product shows the change",
    rolled_back: "the host product shows what it showed before",
    absent: "the host product shows nothing of the change",
  }),
);
const operationState = (facts: Facts): Part[] => [
  OPERATION_STATES.get(readText(facts, "host")) ?? "it is not known what the host product shows",
];

/** Describes the drift of an applied change: `the host product shows another value`. */
export const describeDrift = (state: unknown): string =>
  `the host product shows ${state === "missing" ? "nothing of it" : "another value"}`;

/** Describes a KPI that a guardrail found worse: `incident_rate rose by 0.03 (worse)`. */
export const describeTrip = ({ kpi, baseline, value }: { kpi: string; baseline: number; value: number }): string =>
  `${label(kpi)} ${describeRegression(baseline, value)}`;

/** Lists the targets of a plan that an entry is about, after `before`: ` of ui.a, ui.b`; empty for a change that is no plan. */
const planTargets = ({ sets }: Facts, before: string): Part[] =>
  Array.isArray(sets)
    ? (sets as { target: string }[]).flatMap(({ target }, index) => [index === 0 ? before : ", ", { text: target }])
    : [];

/** Describes KPI values: `csat 4.2, incident_rate 0.05`. */
export const describeValues = (values: unknown): Part[] =>
  Object.entries(values ?? {}).flatMap(([kpi, value], index) => [
    index === 0 ? "" : ", ",
    { text: kpi },
    ` ${Number(value)}`,
  ]);

const byActor =
  (words: string) =>
  (facts: Facts): Part[] => [words, ...actorPart(facts, "actor")];

/** Wording of each type of event; the compiler rejects a missing type. */
const EVENTS: Readonly<Record<EventType, Wording>> = {
  kpi_refreshed: {
    name: "KPIs fed",
    words: (facts) => [
      ...byActor("KPIs fed")(facts),
      ...(facts["values"] ? [": ", ...describeValues(facts["values"])] : []),
    ],
  },
  change_proposed: { name: "Change proposed", words: describeProposal },
  consent_decision: { name: "Consent decision", words: describeDecision },
  change_applied: {
    name: "Change applied",
    words: (facts) => ["applied", ...actorPart(facts, "actor", "by"), describeCircumstances(facts)],
    targetState: adapterState,
  },
  change_rolled_back: {
    name: "Change rolled back",
    words: (facts) => ["rolled back", ...actorPart(facts, "actor", "by"), describeCircumstances(facts)],
    targetState: adapterState,
  },
  change_apply_failed: { name: "Apply failed", words: describeFailure("apply"), targetState: operationState },
  change_rollback_failed: { name: "Rollback failed", words: describeFailure("rollback"), targetState: operationState },
  change_drifted: {
    name: "Change drifted",
    words: (facts) => [
      "changed outside Countersign",
      ...planTargets(facts, " at "),
      `, ${describeDrift(facts["state"])}`,
    ],
  },
  value_restored: {
    name: "Value restored",
    words: (facts) => [
      "consented value",
      ...planTargets(facts, " of "),
      " restored",
      ...actorPart(facts, "actor", "by"),
      facts["replaced_digest"] === null ? " where the target held nothing" : " over a value from outside Countersign",
      describeCircumstances(facts),
    ],
    targetState: (facts) => (readText(facts, "host") === "" ? adapterState(facts) : operationState(facts)),
  },
  automation_stopped: { name: "Automatic apply stopped", words: () => ["no longer applies by itself"] },
  ...ROLLOUT_WORDS,
  release_checked: {
    name: "Release checked",
    words: (facts) => [
      "release",
      ...recordedPart({ head: readText(facts, "head").slice(0, SHOWN_COMMIT_LENGTH) }, " ", "head"),
      ...recordedPart(facts, " ", "state"),
      ...recordedPart((facts["caller"] ?? {}) as Facts, " for ", "sub"),
    ],
  },
  proposal_refused: {
    name: "Proposal rejected",
    words: (facts, tenant) =>
      typeof facts["count"] === "number"
        ? [`${facts["count"]} more proposals rejected`, ...recordedPart(facts, " on ", "day")]
        : [
            "proposal",
            ...actorPart(facts, "proposer"),
            ...recordedPart(facts, " on ", "target"),
            ...(tenant === "" ? [] : [" for tenant ", { text: tenant }]),
            " rejected",
          ],
  },
  intent_in_force: {
    name: "Intent in force",
    words: (facts) => [
      "intent",
      ...recordedPart(facts, " ", "version"),
      typeof facts["update_epoch"] === "number" ? ` (update_epoch ${facts["update_epoch"]})` : "",
      " in force",
      ...recordedPart(facts, ", approved by ", "approved_by"),
    ],
  },
  targets_in_force: {
    name: "Target systems in force",
    words: ({ systems }) => [
      "target systems in force: ",
      { text: (Array.isArray(systems) ? systems : []).map(({ name }) => String(name)).join(", ") || "none" },
    ],
  },
  emergency_reviewed: {
    name: "Emergency reviewed",
    words: (facts) => [
      "emergency reviewed",
      ...actorPart(facts, "approver"),
      facts["verdict"] === "accepted" ? ", accepted" : ", not accepted",
    ],
  },
  service_frozen: {
    name: "Service frozen",
    words: (facts) => [...byActor("service frozen")(facts), momentText(facts, "until", " until ")],
  },
  service_unfrozen: { name: "Service unfrozen", words: byActor("service unfrozen") },
  record_rebuilt: {
    name: "Record rebuilt",
    words: () => ["stored record did not match the log, and was rebuilt from it"],
  },
  clock_accepted: {
    name: "Clock accepted",
    words: (facts) => [
      ...byActor("clock accepted")(facts),
      momentText(facts, "last", ", although the log was dated up to "),
    ],
  },
  content_erased: { name: "Content erased", words: byActor("content erased") },
  note_added: {
    name: "Late note added",
    words: (facts) => [
      `${facts["item"] === "rationale" ? "rationale" : "note"} added late`,
      ...actorPart(facts, "actor"),
    ],
  },
  store_moved: {
    name: "Store moved",
    words: (facts) => [
      ...byActor("log moved")(facts),
      ...recordedPart(facts, " from ", "from"),
      ...recordedPart(facts, " to ", "to"),
      ...recordedPart(facts, " (", "how", ")"),
    ],
  },
  ...MANDATE_WORDS,
  loss_accepted: {
    name: "Loss accepted",
    words: (facts) => [
      ...byActor("loss of the end of the log accepted")(facts),
      ...(readText(facts, "message") === "" ? [] : [", ", { text: readText(facts, "message"), quoted: true as const }]),
    ],
  },
};

/** The name of each type of event: `Change proposed`. */
export const EVENT_NAMES = Object.fromEntries(
  Object.entries(EVENTS).map(([type, { name }]) => [type, name]),
) as Readonly<Record<EventType, string>>;

const FORBIDDEN_TARGET = "the intent forbids changes of this target";

function findReason(event_type: string, facts: Facts): Part | undefined {
  const evidence = facts["evidence"] as Parameters<typeof describeTrip>[0] | undefined;
  if (event_type === "change_rolled_back" && evidence) return describeTrip(evidence);
  if (event_type === "proposal_refused" && "code" in facts)
    return facts["code"] === "forbidden_target" ? FORBIDDEN_TARGET : { text: readText(facts, "code") };
  // The reason of such an event is a code, which its wording describes.
  const isRolloutEvent = Object.hasOwn(ROLLOUT_WORDS, event_type);
  const words =
    readText(facts, "error") || readText(facts, "note") || (isRolloutEvent ? "" : readText(facts, "reason"));
  return words.trim() === "" ? undefined : { text: words, quoted: true };
}

/** Describes an entry, and its change if one is passed. */
export function describe(
  { event_type, detail, tenant = "" }: DescribableEntry,
  change?: Parameters<typeof nameChange>[0],
): Description {
  const facts = (typeof detail === "string" ? parseDetail(detail) : detail) as Facts;
  const wording = Object.hasOwn(EVENTS, event_type) ? EVENTS[event_type as EventType] : undefined;
  const reason = findReason(event_type, facts);
  return {
    changeName: change ? nameChange(change) : [],
    event: (wording?.words(facts, tenant) ?? [{ text: event_type }]).filter((part) => part !== ""),
    ...(reason !== undefined && { reason }),
    targetState: wording?.targetState?.(facts) ?? [],
  };
}

/** Joins a description to one sentence without a full stop: the reason follows a colon. */
export function toSentence({ changeName, event, reason }: Omit<Description, "targetState">): Part[] {
  const sentence = changeName.length === 0 ? capitalize(event) : [...changeName, ": ", ...event];
  return reason === undefined ? sentence : [...sentence, ": ", reason];
}
