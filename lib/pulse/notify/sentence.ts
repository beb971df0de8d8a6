/** A notification in one sentence that says who, what and for whom, whose word is missing, and until when. */
import type { Entry } from "../../follow/entries.ts";
import type { GrowthRow } from "../../follow/growth_row.ts";
import { POLICY_GUARDRAIL, POLICY_MINOR } from "../../governance/rules/actor.ts";
import type { Change } from "../../governance/rules/change.ts";
import type { Missing } from "../../governance/rules/missing.ts";
import type { Outcome } from "../../governance/rules/outcome.ts";
import { movementOf, wordOf } from "../../governance/rules/outcome_words.ts";
import { oneLine, shorten } from "../../kit/quote.ts";
import type { NotificationType } from "./notification.ts";
import { lacking, listed, named, on, people, said } from "./words.ts";

/** What a sentence is made of. */
export interface Told {
  type: NotificationType;
  /** The change as it is now. */
  change: Change | undefined;
  /** What the entry says that records it; nothing where no entry does. */
  facts: Entry["facts"];
  missing: readonly Missing[];
  expires_at: string | null;
  /** Who may review it, where the intent names them. */
  reviewers?: readonly string[] | undefined;
  outcome?: Outcome | null | undefined;
  /** `of_entry`: the words are all ours. */
  notice?: (Pick<GrowthRow, "title" | "detail" | "ref"> & { of_entry: boolean }) | undefined;
}

const LONGEST = 1200;

/** The sentence. */
export function sentenceOf(told: Told): string {
  const { change } = told;
  return `${shorten(change ? ofChange(told, change) : ofService(told), LONGEST)}.`;
}

function ofChange(told: Told, change: Change): string {
  const { facts, missing, expires_at, notice } = told;
  const what = subject(change);
  const proposed = `${what}, proposed by ${proposer(change)}`;
  const weight = weightOf(change);
  const until = expires_at === null ? "" : ` until ${on(expires_at).replace("on ", "")}`;
  switch (told.type) {
    case "change.waiting_for_consent":
      if (change.status !== "pending_consent")
        return `Proposed by ${proposer(change)}: ${what}${weight}; meanwhile it is ${ended(change)}`;
      return `Consent is needed${until}: ${proposer(change)} proposes ${what}${weight}${given(change)}${still(missing)}`;
    case "change.expiring":
      return expiring(told, change, proposed);
    case "change.review_due": {
      const { reviewers } = told;
      const who = reviewers === undefined ? "" : reviewers.length === 0 ? "nobody" : listed(reviewers, "or");
      const may = who && `; it may be reviewed by ${who}`;
      return `A review is due${until}: ${proposed}, was approved in an emergency by ${byEmergency(change)}${weight}${may}`;
    }
    case "change.decided":
      return `${decided(facts)}: ${proposed}${facts.decision === "approved" ? weight : ""}${noted(facts.note)}${waits(change, until)}`;
    case "change.applied":
      return `Applied${by(facts.actor)}: ${proposed}${weight}${noted(facts.note)}`;
    case "change.apply_failed":
      return `The apply of ${what} failed${failure(facts)}; it is still approved`;
    case "change.rolled_back":
      return `Rolled back${facts.by === POLICY_GUARDRAIL ? " by a guardrail of the intent" : by(facts.actor)}: ${proposed}${noted(facts.note)}`;
    case "change.rollback_failed":
      return `The rollback of ${what} failed${failure(facts)}; it is still applied`;
    case "change.drifted": {
      const held = facts.state === "missing" ? "nothing" : "something else";
      return `The host product no longer shows ${what}: it holds ${held} in its place`;
    }
    case "outcome.verdict": {
      if (!told.outcome) return ofNotice(notice!, what);
      const how = told.outcome.state === "final" ? "is in the end" : "is so far";
      return `The outcome of ${what} ${how} ${wordOf(told.outcome)}: ${plain(movementOf(told.outcome))}`;
    }
    default:
      return notice ? ofNotice(notice, what) : what;
  }
}

/** About the service, or about more than one change. */
function ofService({ type, notice }: Told): string {
  if (!notice) return type;
  if (type !== "breach.found") return ofNotice(notice, "");
  return `${plain(notice.title)}: ${said(notice.detail)}; nothing is decided on it until it is put right, or the store is restored from a backup`;
}

/** What the service noticed, the change by its words instead of its id. */
function ofNotice({ title, detail, ref, of_entry }: NonNullable<Told["notice"]>, what: string): string {
  const said_of = plain(ref !== null && what !== "" ? title.split(ref).join(what) : title);
  if (detail.trim() === "") return said_of;
  return `${said_of}${of_entry ? `; ${lower(plain(detail))}` : `: ${said(detail)}`}`;
}

function expiring({ missing, expires_at }: Told, change: Change, proposed: string): string {
  const when = expires_at === null ? "soon" : on(expires_at);
  const weight = weightOf(change);
  if (change.status === "pending_consent")
    return `Time runs out: without consent it expires ${when}: ${proposed}${weight}${given(change)}${still(missing)}`;
  if (change.status === "approved")
    return `Time runs out: approved and not applied, it lapses ${when}: ${proposed}${weight}${still(missing)}`;
  return `Time ran out for ${proposed}; meanwhile it is ${ended(change)}`;
}

/** `“Raise the seat limit” (limits.seats for tenant t-100)`. */
const subject = ({ summary, target, tenant_id, erased }: Change): string => {
  const place = `${named(target)} for tenant ${named(tenant_id)}`;
  return erased || summary.trim() === "" ? place : `${said(summary)} (${place})`;
};

function proposer({ proposer: name, proposer_kind, asked_by }: Change): string {
  if (name === null) return "somebody unnamed";
  const kind = proposer_kind === "agent" || proposer_kind === "peer" ? `the ${proposer_kind} ` : "";
  const model = proposer_kind === "model" ? "the model " : kind;
  return `${model}${named(name)}${asked_by ? `, asked by ${named(asked_by)}` : ""}`;
}

/** What makes it grave, as far as its proposer said. */
function weightOf({ risk, reversible, affected_users: reached, sets_nothing }: Change): string {
  const parts = [
    sets_nothing && "sets nothing",
    risk === "high" && "high risk",
    !reversible && "cannot be undone",
    reached !== null && `reaches ${people(reached)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `; ${parts.join(", ")}`;
}

function given({ approvals }: Change): string {
  const names = [...new Set(approvals.map(({ approver }) => approver))];
  return names.length === 0 ? "" : `; consent so far of ${listed(names)}`;
}

const still = (missing: readonly Missing[]): string =>
  missing.length === 0 ? "" : `; still missing: ${lacking(missing)}`;

const byEmergency = ({ approvals }: Change): string =>
  listed([...new Set(approvals.flatMap(({ approver, emergency }) => (emergency ? [approver] : [])))]);

function decided({ decision, approver, emergency }: Told["facts"]): string {
  if (approver === POLICY_MINOR) return "Approved by the intent itself, as a minor change";
  const words: Readonly<Record<string, string>> = {
    expired: "Expired without consent",
    lapsed: "Lapsed: it was approved and not applied in time",
    revoked: `The consent was taken back${by(approver)}`,
  };
  if (decision === undefined) return "Decided";
  return words[decision] ?? `${capital(decision)}${emergency ? " in an emergency" : ""}${by(approver)}`;
}

const waits = ({ status }: Change, until: string): string =>
  status === "approved" ? `; it can be applied${until}` : "";

const ended = ({ status, resolution }: Change): string =>
  resolution ?? (status === "pending_consent" ? "pending" : status.replace("_", " "));

const failure = ({ stage, error }: Told["facts"]): string =>
  `${stage ? ` in ${named(stage)}` : ""}${error ? `: ${said(error)}` : ""}`;
const by = (name: string | null | undefined): string => (name ? ` by ${named(name)}` : "");
const noted = (note: string | null | undefined): string => (note?.trim() ? `; note: ${said(note)}` : "");
/** Words of ours, without the stop at their end. */
const plain = (words: string): string => oneLine(words).replace(/\.$/, "");
const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
const lower = (words: string): string => words.charAt(0).toLowerCase() + words.slice(1);
