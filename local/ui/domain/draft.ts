/** A proposal as it is typed: empty, given with the address, or made of a change whose place it takes. */
import type { Change, ChangeDetail, Kind, Risk, Tier } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import { EMPTY_VALUE, formOf, KINDS, type ValueDraft, valueDraftOf, valueOf } from "./kinds.ts";
import { isUnstated } from "./sentences.ts";

/** One target of a plan as it is typed. */
export interface EntryDraft {
  tenant_id: string;
  target: string;
  value: ValueDraft;
}

/** What was typed; empty is "not stated". */
export interface Draft {
  kind: Kind;
  tenant_id: string;
  target: string;
  summary: string;
  rationale: string;
  kpi: string;
  expected_delta_k: string;
  affected_users: string;
  reversible: string;
  risk: Risk | "";
  tier: Tier | "";
  proposer: string;
  /** Empty: a person applies it; `approved`, or a local time. */
  apply_when: string;
  value: ValueDraft;
  /** Present for a plan: what it sets instead of its target, which is its name then. */
  sets?: readonly EntryDraft[] | undefined;
}

/** Returns the draft of each target: of a plan its entries, otherwise the draft itself. */
export const splitDraft = (draft: Draft): readonly Draft[] =>
  draft.sets?.map((entry) => ({ ...draft, ...entry, sets: undefined })) ?? [draft];

/** Adds a target; the first one that is added makes a plan of the draft. */
export function addEntry(draft: Draft): Draft {
  const { tenant_id, target, value, sets = [{ tenant_id, target, value }] } = draft;
  const next = { tenant_id: sets.at(-1)!.tenant_id, target: "", value: EMPTY_VALUE };
  return { ...draft, ...(draft.sets ? {} : { target: "" }), sets: [...sets, next] };
}

/** Removes a target; what is left of a plan of two is no plan. */
export function removeEntry(draft: Draft, index: number): Draft {
  const sets = draft.sets!.filter((_, at) => at !== index);
  return sets.length > 1 ? { ...draft, sets } : { ...draft, ...sets[0]!, sets: undefined };
}

const entriesOf = ({ kind, sets }: Pick<Change, "kind" | "sets">): Draft["sets"] =>
  sets?.map(({ value, ...place }) => ({ ...place, value: valueDraftOf(KINDS[kind].value, value) }));

function valueFrom(kind: Kind, text: string): ValueDraft {
  if (text === "" || KINDS[kind].value === "json") return { ...EMPTY_VALUE, text };
  try {
    return valueDraftOf(KINDS[kind].value, JSON.parse(text));
  } catch {
    return EMPTY_VALUE;
  }
}

/** A proposal may come with the address, for example from a draft in the chat. */
export function draftFrom(query: URLSearchParams, name: string): Draft {
  const given = (field: string): string => query.get(field) ?? "";
  const kind = (given("kind") in KINDS ? given("kind") : "config") as Kind;
  return {
    kind,
    tenant_id: given("tenant_id"),
    target: given("target"),
    summary: given("summary"),
    rationale: given("rationale"),
    kpi: given("kpi"),
    expected_delta_k: given("expected_delta_k"),
    affected_users: given("affected_users"),
    reversible: given("reversible"),
    risk: given("risk") as Risk | "",
    tier: given("tier") as Tier | "",
    proposer: given("proposer") || name,
    apply_when: given("apply_when"),
    value: valueFrom(kind, given("value")),
  };
}

/** The content of a change, to be proposed again by somebody. */
export function draftAgain(change: Change, name: string): Draft {
  const { kind, tier } = change;
  return {
    kind,
    tenant_id: change.tenant_id,
    target: change.target,
    summary: change.summary,
    rationale: change.rationale,
    kpi: change.kpi ?? "",
    expected_delta_k: stated(change.expected_delta_k),
    affected_users: stated(change.affected_users),
    reversible: isUnstated(change, "reversible") ? "" : String(change.reversible),
    risk: isUnstated(change, "risk") ? "" : change.risk,
    tier: tier === "standard" ? "" : tier,
    proposer: name,
    apply_when: "",
    value: valueDraftOf(KINDS[kind].value, change.value),
    sets: entriesOf(change),
  };
}

/** The value of a change for another place; its reach and risk there are stated again. */
export const draftOfPromotion = (change: Change, query: URLSearchParams, name: string): Draft => ({
  ...draftFrom(query, name),
  kind: change.kind,
  target: query.get("target") ?? change.target,
  summary: query.get("summary") ?? change.summary,
  kpi: change.kpi ?? "",
  value: valueDraftOf(KINDS[change.kind].value, change.value),
  sets: entriesOf(change),
});

/** That the target shall hold what the host product holds; what was expected of the change before is not expected of this one. */
export function draftOfHeld(change: ChangeDetail, held: { value: unknown } | null | undefined, name: string): Draft {
  return {
    ...draftAgain(change, name),
    summary: `Keep what the host product holds at ${change.target}`,
    rationale: "",
    expected_delta_k: "",
    value: valueDraftOf(KINDS[change.kind].value, held?.value),
  };
}

const stated = (figure: number | null): string => (figure === null ? "" : String(figure));

/** The form's fields; what was left empty is not stated. */
export function fieldsOf(draft: Draft, value: string | undefined): Fields {
  const { value: _typed, apply_when, sets, ...given } = draft;
  const at = new Date(apply_when);
  const filled = Object.entries(given).map(([field, text]) => [field, text.trim() === "" ? undefined : text.trim()]);
  return {
    ...Object.fromEntries(filled),
    apply_when: Number.isNaN(at.getTime()) ? apply_when || undefined : at.toISOString(),
    value,
    sets: sets && JSON.stringify(sets.map((entry) => readEntry(draft.kind, entry))),
  };
}

function readEntry(kind: Kind, { tenant_id, target, value }: EntryDraft) {
  const { json } = valueOf(formOf(kind, value), value);
  return { tenant_id: tenant_id.trim(), target: target.trim(), ...(json !== undefined && { value: JSON.parse(json) }) };
}

/** Returns what the policy judges; a field that is not stated is absent. */
export function readStated({ tenant_id, kind, target, affected_users, reversible, risk, tier, apply_when }: Draft) {
  const users = affected_users.trim();
  return {
    tenant_id: tenant_id.trim(),
    kind,
    target: target.trim(),
    ...(users !== "" && Number.isSafeInteger(Number(users)) && { affected_users: Number(users) }),
    ...(reversible !== "" && { reversible: reversible === "true" }),
    ...(risk !== "" && { risk }),
    ...(tier !== "" && { tier }),
    ...(apply_when !== "" && { apply_when }),
  };
}
