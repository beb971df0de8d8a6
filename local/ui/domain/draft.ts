/** A proposal as it is typed: empty, given with the address, or made of a change whose place it takes. */
import type { Change, ChangeDetail, Kind } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import type { TargetValue } from "./target_value.ts";
import { KINDS, parseValue, formatValue } from "./kinds.ts";
import { isUnstated } from "./sentences.ts";

/** Fields that are typed as text; empty is "not stated". */
const TEXTS = [
  "tenant_id", "target", "summary", "rationale", "kpi", "expected_delta_k", "affected_users", "reversible", "risk", "tier",
  "proposer",
  // Empty: a person applies it; `approved`, or a local time.
  "apply_when",
  "value",
] as const; // prettier-ignore
export type DraftField = (typeof TEXTS)[number];

/** One target of a plan as it is typed. */
export type EntryDraft = Record<"tenant_id" | "target" | "value", string>;

/** A proposal as it is typed. */
export type Draft = Record<DraftField, string> & {
  kind: Kind;
  /** Present for a plan: what it sets instead of its target, which is its name then. */
  sets?: readonly EntryDraft[] | undefined;
};

/** Returns the draft of each target: of a plan its entries, otherwise the draft itself. */
export const splitDraft = (draft: Draft): readonly Draft[] =>
  draft.sets?.map((entry) => ({ ...draft, ...entry, sets: undefined })) ?? [draft];

/** Adds a target; the first one that is added makes a plan of the draft. */
export function addEntry(draft: Draft): Draft {
  const { tenant_id, target, value, sets = [{ tenant_id, target, value }] } = draft;
  const next = { tenant_id: sets.at(-1)!.tenant_id, target: "", value: "" };
  return { ...draft, ...(draft.sets ? {} : { target: "" }), sets: [...sets, next] };
}

/** Removes a target; what is left of a plan of two is no plan. */
export function removeEntry(draft: Draft, index: number): Draft {
  const sets = draft.sets!.filter((_, at) => at !== index);
  return sets.length > 1 ? { ...draft, sets } : { ...draft, ...sets[0]!, sets: undefined };
}

/** A proposal may come with the address, for example from a draft in the chat. */
export function parseDraft(query: URLSearchParams, name: string): Draft {
  const texts = Object.fromEntries(TEXTS.map((field) => [field, query.get(field) ?? ""])) as Record<DraftField, string>;
  const kind = query.get("kind") ?? "";
  return { ...texts, kind: kind in KINDS ? (kind as Kind) : "config", proposer: texts.proposer || name };
}

/** The kind, KPI and values of a change. */
const copyContent = ({ kind, kpi, value, sets }: Change) => ({
  kind,
  kpi: kpi ?? "",
  value: formatValue(kind, value),
  sets: sets?.map((entry) => ({ ...entry, value: formatValue(kind, entry.value) })),
});

/** The content of a change, to be proposed again by somebody. */
export const draftFromChange = (change: Change, proposer: string): Draft => ({
  ...copyContent(change),
  tenant_id: change.tenant_id,
  target: change.target,
  summary: change.summary,
  rationale: change.rationale,
  expected_delta_k: String(change.expected_delta_k ?? ""),
  affected_users: String(change.affected_users ?? ""),
  reversible: isUnstated(change, "reversible") ? "" : String(change.reversible),
  risk: isUnstated(change, "risk") ? "" : change.risk,
  tier: change.tier === "standard" ? "" : change.tier,
  proposer,
  apply_when: "",
});

/** The value of a change for another place; its reach and risk there are stated again. */
export const draftPromotion = (change: Change, query: URLSearchParams, name: string): Draft => ({
  ...parseDraft(query, name),
  ...copyContent(change),
  target: query.get("target") ?? change.target,
  summary: query.get("summary") ?? change.summary,
});

/** Drafts that the target keeps what the host product holds; the gain expected of the change before is left out. */
export const draftCurrentValue = (change: ChangeDetail, current: TargetValue, name: string): Draft => ({
  ...draftFromChange(change, name),
  summary: `Keep what the host product holds at ${change.target}`,
  rationale: "",
  expected_delta_k: "",
  value: formatValue(change.kind, current?.value),
});

/** The form's fields; what was left empty is not stated. */
export function makeProposalFields({ sets, kind, apply_when, value, ...texts }: Draft): Fields {
  const at = new Date(apply_when);
  const entries = sets?.map(({ tenant_id, target, value: text }) => {
    const { json } = parseValue(kind, text);
    return {
      tenant_id: tenant_id.trim(),
      target: target.trim(),
      ...(json !== undefined && { value: JSON.parse(json) }),
    };
  });
  return {
    ...Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, text.trim() || undefined])),
    kind,
    apply_when: Number.isNaN(at.getTime()) ? apply_when || undefined : at.toISOString(),
    value: sets ? undefined : parseValue(kind, value).json,
    sets: entries && JSON.stringify(entries),
  };
}

/** Returns what the policy judges; a field that is not stated is absent. */
export function readStatedFields({
  tenant_id,
  kind,
  target,
  affected_users,
  reversible,
  risk,
  tier,
  apply_when,
}: Draft) {
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
