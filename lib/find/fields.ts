/** Fields of the query language, with their allowed values, and functions that read their values from a change. */
import { PROPOSER_KINDS, type ProposerKind } from "../changes/rules/actor.ts";
import { type Change, KINDS, RESOLUTIONS, RISKS, STATUSES, TIERS } from "../changes/rules/change.ts";
import { isConsentExpected } from "../changes/rules/expected_consent.ts";
import { isOpenChange, isReviewDue, findTimeLimit } from "../changes/rules/current_state.ts";
import type { Intent } from "../changes/rules/intent.ts";
import { isPlan, listGovernedEntries } from "../changes/rules/list_entries.ts";
import { listMissingConsents } from "../changes/rules/missing_consents.ts";
import { isListedName } from "../changes/rules/names.ts";
import { type OutcomeVerdict, VERDICTS } from "../changes/rules/outcome.ts";
import { isRollingOut } from "../changes/rules/rollout_state.ts";
import { TIME_LIMITS } from "../projections/overdue.ts";
import { listApprovers, findDenier, type Row, listTimes } from "./row.ts";

/** Facts other than the change itself that a query is evaluated against. */
export interface Context {
  /** Milliseconds since the epoch. */
  now: number;
  zone: string;
  intent: Intent;
  /** Name of the caller; null if unknown. */
  caller: string | null;
  /** Ids of the changes whose targets drifted. */
  drifted: ReadonlySet<string>;
  /** The verdict of each applied change. */
  verdicts: ReadonlyMap<string, OutcomeVerdict>;
}

/**
 * A field by the type of its values. `words`: one of a closed list; `is`: a state of the change; `names` and `text`: recorded
 * values, compared as names or exactly; `pattern`: `*` stands for any characters; `number` and `date` accept ranges. `of` returns
 * the values of a change; a change without values matches nothing.
 */
export type Field =
  | { type: "words"; values: readonly string[]; of(row: Row, context: Context): readonly string[] }
  | { type: "is"; values: readonly string[]; is(row: Row, value: string, context: Context): boolean }
  | { type: "names" | "text" | "pattern"; of(row: Row): readonly string[] }
  | { type: "number"; of(row: Row): number | null }
  | { type: "date"; of(row: Row, context: Context): readonly string[] };

const toList = (value: string | null | undefined): string[] => (value === null || value === undefined ? [] : [value]);

/** Returns the value that the proposer stated; null instead of a default value. */
const readStated = <K extends "reversible" | "affected_users">({ change }: Row, field: K): Change[K] | null =>
  change.unstated?.includes(field) ? null : change[field];

export const PROPOSER_WORDS: Readonly<Record<ProposerKind, string>> = {
  person: "people",
  agent: "agents",
  model: "models",
  peer: "peers",
  unknown: "unknown",
};

/** Words of `is:` in addition to the statuses. */
const STATES = ["mine", "waiting", "overdue", "emergency", "drifted", "minor", "automatic"] as const;

function isState(row: Row, value: string, context: Context): boolean {
  const { change } = row;
  const { caller, drifted, intent, now } = context;
  switch (value as (typeof STATES)[number]) {
    case "mine":
      return change.proposer !== null && isListedName(change.proposer, caller ?? []);
    case "waiting":
      return isWaiting(change as Change, caller, intent);
    case "overdue":
      return drifted.has(change.change_id) || isOverdue(change as Change, now);
    case "emergency":
      return change.approvals.some(({ emergency }) => emergency === true);
    case "drifted":
      return drifted.has(change.change_id);
    case "minor":
      return change.tier === "minor";
    case "automatic":
      return change.tier === "minor" || change.approvals.some(({ approver }) => listMandateIds(approver).length > 0);
    default:
      return change.status === value;
  }
}

/** Returns true for a change that N counts as overdue for a reason other than drift. */
function isOverdue(change: Change, now: number): boolean {
  const { status, created_at, decided_at } = change;
  if (status === "pending_consent") return now - Date.parse(created_at) > TIME_LIMITS.pending_changes;
  if (status === "approved") return now - Date.parse(decided_at ?? created_at) > TIME_LIMITS.approved_changes;
  return isReviewDue(change);
}

/** Returns true for an open change that waits for the caller's consent; without a caller, for anybody's. */
function isWaiting(change: Change, caller: string | null, intent: Intent): boolean {
  if (!isOpenChange(change.status)) return false;
  if (caller !== null) return isConsentExpected(change, caller, intent);
  return change.status === "pending_consent" || listMissingConsents(change, intent).length > 0;
}

const MANDATE_PREFIX = "mandate:";
const listMandateIds = (approver: string): string[] =>
  approver.startsWith(MANDATE_PREFIX) ? [approver.slice(MANDATE_PREFIX.length)] : [];

export const FIELDS = {
  is: { type: "is", values: [...STATUSES, ...STATES], is: isState },
  tenant: { type: "text", of: ({ change }) => listGovernedEntries(change).map(({ tenant_id }) => tenant_id) },
  target: { type: "pattern", of: ({ change }) => listGovernedEntries(change).map(({ target }) => target) },
  kind: { type: "words", values: KINDS, of: ({ change }) => [change.kind] },
  risk: { type: "words", values: RISKS, of: ({ change }) => [change.risk] },
  tier: { type: "words", values: TIERS, of: ({ change }) => [change.tier] },
  proposer: { type: "names", of: ({ change }) => toList(change.proposer) },
  approver: { type: "names", of: listApprovers },
  "denied-by": { type: "names", of: (row) => toList(findDenier(row)) },
  by: {
    type: "words",
    values: PROPOSER_KINDS.map((kind) => PROPOSER_WORDS[kind]),
    of: ({ change }) => [PROPOSER_WORDS[change.proposer_kind]],
  },
  agent: { type: "names", of: ({ change }) => (change.proposer_kind === "agent" ? toList(change.proposer) : []) },
  users: { type: "number", of: (row) => readStated(row, "affected_users") },
  gain: { type: "number", of: ({ change }) => change.expected_delta_k },
  kpi: { type: "text", of: ({ change }) => toList(change.kpi) },
  verdict: {
    type: "words",
    values: VERDICTS,
    of: ({ change }, { verdicts }) => toList(verdicts.get(change.change_id)),
  },
  reversible: {
    type: "words",
    values: ["yes", "no", "unstated"],
    of: (row) => [{ true: "yes", false: "no", null: "unstated" }[`${readStated(row, "reversible")}`]],
  },
  reason: { type: "words", values: ["present", "absent"], of: ({ reasoned }) => [reasoned ? "present" : "absent"] },
  resolution: { type: "words", values: RESOLUTIONS, of: ({ change }) => toList(change.resolution) },
  proposed: { type: "date", of: (row) => listTimes(row, "proposed") },
  decided: { type: "date", of: (row) => listTimes(row, "decided") },
  applied: { type: "date", of: (row) => listTimes(row, "applied") },
  rolledback: { type: "date", of: (row) => listTimes(row, "rolledback") },
  expires: { type: "date", of: ({ change }, { intent }) => toList(findTimeLimit(change, intent.policy)) },
  system: { type: "text", of: ({ change }) => change.places?.map(({ system }) => system) ?? [] },
  stage: { type: "number", of: ({ change }) => (isRollingOut(change) ? change.exposure!.step : null) },
  plan: { type: "pattern", of: ({ change }) => (isPlan(change) ? [change.target] : []) },
  mandate: {
    type: "pattern",
    of: ({ change }) => change.approvals.flatMap(({ approver }) => listMandateIds(approver)),
  },
} as const satisfies Record<string, Field>;
export type FieldName = keyof typeof FIELDS;

/** Finds a field by its name; undefined for an unknown name. */
export const findField = (name: string): Field | undefined =>
  Object.hasOwn(FIELDS, name) ? FIELDS[name as FieldName] : undefined;

/** Keys by which rows are grouped: a field, or the day, week or month of an event. */
export const GROUPS = [
  ...["tenant", "target", "kind", "risk", "tier", "proposer", "approver", "denied-by", "by", "kpi", "verdict"],
  ...["reversible", "reason", "resolution", "status", "day", "week", "month"],
] as const;

/** Pairs of events between which time is measured. */
export const DURATIONS = ["proposed-decided", "proposed-applied", "decided-applied", "applied-rolledback"] as const;

/** Orders of rows; each may end in `-asc`. */
export const SORTS = [
  ...["proposed", "decided", "applied", "rolledback", "expires", "users", "gain", "risk"],
  ...["tenant", "target", "time", "relevance"],
] as const;

/** All words that may precede a colon. */
export const FIELD_NAMES: readonly string[] = [...Object.keys(FIELDS), "sort", "group", "time"];

/** Other spellings of fields and of the words of closed lists. */
export const FIELD_ALIASES: Readonly<Record<string, string>> = {
  "rolled-back": "rolledback",
  denied_by: "denied-by",
  status: "is",
};
export const VALUE_ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  is: { pending: "pending_consent", rolledback: "rolled_back" },
  by: { ...Object.fromEntries(PROPOSER_KINDS.map((kind) => [kind, PROPOSER_WORDS[kind]])) },
};
