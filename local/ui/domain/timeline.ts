/** The life of a change, from its audit entries. */
import { parseDetail } from "../../../lib/changes/rules/event.ts";
import { describe } from "../../../lib/wording/describe.ts";
import { capitalize, type Part } from "../../../lib/wording/part.ts";
import type { AuditEntry, EventType } from "../core/api_types.ts";
import type { Shape, Tone } from "./statuses.ts";

/** One step: what happened, by whom, with which note. */
export interface Step {
  id: number;
  change_id: string;
  at: string;
  sentence: Part[];
  /** How the person proved the action; empty without a signature. */
  proof: Part[];
  note: string;
  shape: Shape;
  tone: Tone;
}

type Facts = Record<string, unknown>;
type Icon = readonly [Shape, Tone];

const readText = (value: unknown): string => (typeof value === "string" ? value : "");

export const makeSteps = (entries: readonly AuditEntry[]): Step[] => entries.map(makeStep);

function makeStep(entry: AuditEntry): Step {
  const facts = parseDetail(entry.detail) as Facts;
  const { event, reason, targetState } = describe(entry);
  const isNote = typeof reason === "object";
  const [shape, tone] = findIcon(entry.event_type, facts);
  return {
    id: entry.id,
    change_id: entry.change_id,
    at: entry.timestamp,
    sentence: [
      ...capitalize(event),
      ...(reason === undefined || isNote ? [] : [": ", reason]),
      ...(targetState.length === 0 ? [] : ["; ", ...targetState]),
    ],
    proof: describeProof(facts),
    note: isNote ? reason.text : "",
    shape,
    tone,
  };
}

const QUIET: Icon = ["dash", "quiet"];

/** Icons by decision, verdict or event; the first pattern that matches counts. */
const ICONS: readonly (readonly [RegExp, Icon])[] = [
  [/failed|drifted|automation_stopped|rebuilt|suspended/, ["bang", "bad"]],
  [/^change_applied/, ["full", "good"]],
  [/^change_rolled_back/, ["back", "warn"]],
  [/^change_proposed/, ["ring", "quiet"]],
  [/^not_accepted/, ["check", "bad"]],
  [/^(?:approved|accepted|mandate_signed|mandate_resumed)/, ["check", "good"]],
  [/^(?:denied|revoked)/, ["cross", "bad"]],
  [/^(?:withdrawn|lapsed|expired)/, ["cross", "quiet"]],
];

function findIcon(event: EventType, facts: Facts): Icon {
  let word: unknown = event;
  if (event === "consent_decision") word = facts["decision"];
  if (event === "emergency_reviewed") word = facts["verdict"];
  return ICONS.find(([pattern]) => pattern.test(readText(word)))?.[1] ?? QUIET;
}

/** Describes the proof of a signature: the key and the presence of its owner, not their understanding. */
function describeProof(facts: Facts): Part[] {
  const actor = readText(facts["approver"]) || readText(facts["proposer"]) || readText(facts["actor"]);
  if (facts["authenticated"] === "signature")
    return ["Given with ", { text: actor }, "’s key; their presence was verified."];
  if (facts["authenticated"] === "signature_unattended")
    return ["Signed unattended, by a key of ", { text: actor }, " that signs by itself: no person had to be present."];
  return [];
}
