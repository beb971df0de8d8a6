/** The sentences that are remembered of entries, proposals and verdicts; whatever somebody wrote is quoted in them. */
import type { EventType } from "../audit/entry.ts";
import type { Change } from "../changes/rules/change.ts";
import { signedWords } from "../changes/rules/kpi_words.ts";
import type { Outcome, Verdict } from "../changes/rules/outcome.ts";
import { movementOf } from "../changes/rules/outcome_words.ts";
import { describe, inOneSentence } from "../wording/describe.ts";
import { nameChange } from "../wording/names.ts";
import { joinParts, type Part } from "../wording/part.ts";
import { type Entry, findActor } from "./entries.ts";
import type { FollowedChange } from "./follower.ts";
import type { Memory, MemoryKind } from "./memory.ts";

/** Memory of an entry. */
export type MemoryText = Pick<Memory, "kind" | "text"> & { author: string | null };

/** The events that are remembered as they happen; a proposal is worded from its change, and feeds once a day. */
const KINDS: Readonly<Partial<Record<EventType, MemoryKind>>> = {
  consent_decision: "decision",
  emergency_reviewed: "decision",
  note_added: "decision",
  service_frozen: "decision",
  service_unfrozen: "decision",
  change_applied: "outcome",
  change_apply_failed: "outcome",
  change_drifted: "outcome",
  change_rolled_back: "rollback",
  change_rollback_failed: "rollback",
  proposal_refused: "proposal",
};

/** Describes an entry to be remembered; undefined for one that is not. */
export function describeMemory(entry: Entry, change?: FollowedChange): MemoryText | undefined {
  const kind = KINDS[entry.event_type];
  if (kind === undefined) return undefined;
  return { kind, author: findActor(entry), text: joinParts(inOneSentence(describe(entry, change))) };
}

/** Describes a proposal, with the gain that it promises and its rationale. */
export function describeProposal(change: Change): MemoryText {
  const { kpi, expected_delta_k: gain, rationale, proposer } = change;
  const promise: Part[] =
    kpi === null ? [] : ["; promised gain: ", { given: kpi }, gain === null ? " not stated" : ` ${signedWords(gain)}`];
  const reason: Part[] = rationale.trim() === "" ? [] : ["; rationale: ", { given: rationale, quoted: true }];
  const sentence = inOneSentence(describe({ event_type: "change_proposed", detail: change }, change));
  return { kind: "proposal", author: proposer, text: joinParts([...sentence, ...promise, ...reason]) };
}

const VERDICT: Readonly<Record<Verdict, string>> = {
  met: "met its promise",
  missed: "missed its promise",
  regressed: "regressed, its KPI got worse",
  inconclusive: "inconclusive",
  too_early: "ended too early to judge",
};

/** The final verdict on a change, in a sentence. */
export const verdictSentence = (change: FollowedChange, outcome: Outcome): string =>
  `${joinParts(nameChange(change))}: ${VERDICT[outcome.verdict]}, the final verdict; ${movementOf(outcome)}`;
