/**
 * Entries as sentences to be remembered. Each says how it stands in a word that people look for; whatever somebody wrote is
 * quoted and stands behind the name of whoever wrote it.
 */
import { POLICY_GUARDRAIL } from "../governance/rules/actor.ts";
import type { Outcome, Verdict } from "../governance/rules/outcome.ts";
import { movementOf } from "../governance/rules/outcome_words.ts";
import { label, quote } from "../kit/quote.ts";
import type { Change } from "../governance/rules/change.ts";
import type { Entry } from "./entries.ts";
import type { ToldChange } from "./follower.ts";
import type { Memory } from "./memory.ts";

const LONGEST_SUMMARY = 300;
const LONGEST_TEXT = 1200;

/** What is remembered of an entry. */
export type Told = Pick<Memory, "kind" | "text"> & { author: string | null };

/** A change in a sentence. */
export const named = ({ target, tenant_id, summary }: ToldChange): string =>
  `${target} of ${label(tenant_id)} (${quote(summary, LONGEST_SUMMARY)})`;

const DECIDED: Readonly<Record<string, string>> = {
  expired: "expired without consent",
  lapsed: "lapsed, approved but not applied in time",
  revoked: "consent revoked",
};

/** Of an entry about a change; undefined for one that is not remembered, and of a proposal, which its change tells of. */
export function toldOfChange({ event_type, facts }: Entry, change: ToldChange): Told | undefined {
  const { decision = "", progress, approver = null, note, stage = "", error = "", state, verdict, emergency } = facts;
  const actor = facts.actor ?? facts.by ?? null;
  const sentence = (told: string): string => `${named(change)}: ${told}`;
  switch (event_type) {
    case "consent_decision": {
      const how = `${emergency ? " in an emergency" : ""}${progress ? ` (${progress})` : ""}`;
      const text = `${DECIDED[decision] ?? label(decision)}${how}${by(approver)}${noted(note)}`;
      return { kind: "decision", author: approver, text: sentence(text) };
    }
    case "emergency_reviewed": {
      const found = verdict === "accepted" ? "accepted" : "not accepted";
      return {
        kind: "decision",
        author: approver,
        text: sentence(`emergency review${by(approver)}, ${found}${noted(note)}`),
      };
    }
    case "note_added":
      return { kind: "decision", author: actor, text: sentence(`${facts.item} added late${by(actor)}${noted(note)}`) };
    case "change_applied":
      return { kind: "outcome", author: actor, text: sentence(`applied${by(actor)}${noted(note)}`) };
    case "change_apply_failed":
      return { kind: "outcome", author: actor, text: sentence(`apply failed${by(actor)}${failure(stage, error)}`) };
    case "change_drifted":
      return { kind: "outcome", author: null, text: sentence(`drifted, the host no longer shows it: ${state}`) };
    case "change_rolled_back": {
      const guarded = facts.by === POLICY_GUARDRAIL ? " by a guardrail of the intent" : by(actor);
      return { kind: "rollback", author: actor, text: sentence(`rolled back${guarded}${noted(note)}`) };
    }
    case "change_rollback_failed":
      return { kind: "rollback", author: actor, text: sentence(`rollback failed${by(actor)}${failure(stage, error)}`) };
    default:
      return undefined;
  }
}

/** Of a proposal. */
export const toldOfProposal = (change: Change): Told => ({
  kind: "proposal",
  author: change.proposer,
  text: `${named(change)}: ${proposed(change)}`,
});

/** Of an entry about no change; undefined for one that is not remembered. */
export function toldOfService({ event_type, tenant, facts }: Entry): Told | undefined {
  const { actor = null, note, until, target = "", proposer = null, code = "", count, day } = facts;
  switch (event_type) {
    case "service_frozen":
      return {
        kind: "decision",
        author: actor,
        text: `The service was frozen${by(actor)}${until ? ` until ${until}` : ""}${noted(note)}`,
      };
    case "service_unfrozen":
      return {
        kind: "decision",
        author: actor,
        text: `The freeze was lifted, the service unfrozen${by(actor)}${noted(note)}`,
      };
    case "proposal_refused": {
      if (count !== undefined)
        return { kind: "proposal", author: null, text: `${count} more proposals were refused on ${day}` };
      const text = `${label(target)} of ${label(tenant)}: a proposal${by(proposer)} was refused by the intent, ${label(code)}`;
      return { kind: "proposal", author: proposer, text };
    }
    default:
      return undefined;
  }
}

const VERDICT: Readonly<Record<Verdict, string>> = {
  met: "met its promise",
  missed: "missed its promise",
  regressed: "regressed, its KPI got worse",
  inconclusive: "inconclusive",
  too_early: "ended too early to judge",
};

/** The final verdict on a change, in a sentence. */
export const verdictSentence = (change: ToldChange, outcome: Outcome): string =>
  `${named(change)}: ${VERDICT[outcome.verdict]}, the final verdict; ${movementOf(outcome)}`;

function proposed({ asked_by, tier, proposer, proposer_kind, kpi, expected_delta_k, rationale }: Change): string {
  const drafted =
    proposer_kind === "model" ? `drafted${by(proposer)}, a model, and so proposed` : `proposed${by(proposer)}`;
  const asked = asked_by ? ` for ${label(asked_by)}, who asked for it` : "";
  const minor = tier === "minor" ? " as a minor change, approved by the intent itself" : "";
  const gain = kpi === null ? "" : `; promised gain: ${label(kpi)} ${expected_delta_k ?? "not stated"}`;
  const why = rationale.trim() === "" ? "" : `; rationale: ${quote(rationale, LONGEST_TEXT)}`;
  return `${drafted}${asked}${minor}${gain}${why}`;
}

const by = (name: string | null): string => (name === null ? "" : ` by ${label(name)}`);
const noted = (note: string | null | undefined): string => (note?.trim() ? `: ${quote(note, LONGEST_TEXT)}` : "");
const failure = (stage: string, error: string): string => ` in ${label(stage)}: ${quote(error, LONGEST_TEXT)}`;
