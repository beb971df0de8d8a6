/** The life of a change, from its audit entries. */
import { detailIn } from "../../../lib/changes/rules/event.ts";
import { describe } from "../../../lib/wording/describe.ts";
import { capitalize, type Part } from "../../../lib/wording/part.ts";
import type { AuditEntry, EventType } from "../core/api_types.ts";
import type { Shape, Tone } from "./statuses.ts";

/** One step: what happened, by whom, with which note. */
export interface Step {
  id: number;
  at: string;
  what: Part[];
  /** How it is known whose doing it was, where that was proven. */
  proven: Part[];
  note: string;
  shape: Shape;
  tone: Tone;
}

type Facts = Record<string, unknown>;
type Sign = readonly [Shape, Tone];

const textOf = (given: unknown): string => (typeof given === "string" ? given : "");

/** The steps, in the order of the entries. */
export const stepsOf = (entries: readonly AuditEntry[]): Step[] => entries.map(stepOf);

function stepOf(entry: AuditEntry): Step {
  const facts = detailIn(entry.detail) as Facts;
  const { what, reason, host } = describe(entry);
  const isNote = typeof reason === "object";
  const [shape, tone] = signOf(entry.event_type, facts);
  return {
    id: entry.id,
    at: entry.timestamp,
    what: [
      ...capitalize(what),
      ...(reason === undefined || isNote ? [] : [": ", reason]),
      ...(host.length === 0 ? [] : ["; ", ...host]),
    ],
    proven: provenBy(facts),
    note: isNote ? reason.given : "",
    shape,
    tone,
  };
}

const QUIET: Sign = ["dash", "quiet"];
const FAILED: Sign = ["bang", "bad"];

const SIGNS: Readonly<Partial<Record<EventType, Sign>>> = {
  change_proposed: ["ring", "quiet"],
  change_applied: ["full", "good"],
  change_rolled_back: ["back", "warn"],
  change_apply_failed: FAILED,
  change_rollback_failed: FAILED,
  change_drifted: FAILED,
  automation_stopped: FAILED,
  record_rebuilt: FAILED,
};

const DECISION_SIGNS: Readonly<Record<string, Sign>> = {
  approved: ["check", "good"],
  withdrawn: ["cross", "quiet"],
  lapsed: ["cross", "quiet"],
  expired: ["cross", "quiet"],
  revoked: ["cross", "bad"],
  denied: ["cross", "bad"],
};

function signOf(event: EventType, facts: Facts): Sign {
  if (event === "consent_decision") return DECISION_SIGNS[textOf(facts["decision"])] ?? QUIET;
  if (event === "emergency_reviewed") return ["check", facts["verdict"] === "accepted" ? "good" : "bad"];
  return SIGNS[event] ?? QUIET;
}

/** A signature proves whose key it was, and that they were there; not what they understood. */
function provenBy(facts: Facts): Part[] {
  const who = textOf(facts["approver"]) || textOf(facts["proposer"]) || textOf(facts["actor"]);
  if (facts["authenticated"] === "signature")
    return ["Given with ", { given: who }, "’s key, their presence verified."];
  if (facts["authenticated"] === "signature_unattended")
    return ["Signed unattended, by a key of ", { given: who }, " that signs by itself: nobody need have been there."];
  return [];
}
