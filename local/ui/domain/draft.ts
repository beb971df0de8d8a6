/** The draft of a proposal: empty, from the query of the address, or from another change. */
import type { Change, ChangeDetail, Kind } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import type { TargetValue } from "./plan.ts";
import { KINDS, parseValue, formatValue } from "./kinds.ts";
import { isUnstated } from "./sentences.ts";

/** Text fields; an empty one is not stated. */
const TEXTS = [
  "tenant_id", "target", "summary", "rationale", "kpi", "expected_delta_k", "affected_users", "reversible", "risk", "tier",
  "proposer",
  // Empty: a person applies it; `approved`, or a local time.
  "apply_when",
  "value",
] as const; // prettier-ignore
export type DraftField = (typeof TEXTS)[number];

/** One target of a plan, as typed. */
export type EntryDraft = Record<"tenant_id" | "target" | "value", string>;

/** A proposal, as typed. */
export type Draft = Record<DraftField, string> & {
  kind: Kind;
  /** The targets of a plan; its `target` is then the name of the plan. */
  sets?: readonly EntryDraft[] | undefined;
};

/** Returns one draft for each target. */
export const splitDraft = (draft: Draft): readonly Draft[] =>
  draft.sets?.map((entry) => ({ ...draft, ...entry, sets: undefined })) ?? [draft];

/** Adds a target; a draft with two targets is a plan, whose name (`target`) is then typed. */
export function addEntry(draft: Draft): Draft {
  const { tenant_id, target, value, sets = [{ tenant_id, target, value }] } = draft;
  const next = { tenant_id: sets.at(-1)!.tenant_id, target: "", value: "" };
  return { ...draft, ...(draft.sets ? {} : { target: "" }), sets: [...sets, next] };
}

/** Removes a target; a draft with one target is not a plan. */
export function removeEntry(draft: Draft, index: number): Draft {
  const sets = draft.sets!.filter((_, position) => position !== index);
  return sets.length > 1 ? { ...draft, sets } : { ...draft, ...sets[0]!, sets: undefined };
}

/** Reads a draft from the query of the address, for example of a link in the chat. */
export function parseDraft(query: URLSearchParams, name: string): Draft {
  const texts = Object.fromEntries(TEXTS.map((field) => [field, query.get(field) ?? ""])) as Record<DraftField, string>;
  const kind = query.get("kind") ?? "";
  return { ...texts, kind: kind in KINDS ? (kind as Kind) : "config", proposer: texts.proposer || name };
}

/** Returns the kind, KPI and values of a change, as typed. */
const copyContent = ({ kind, kpi, value, sets }: Change) => ({
  kind,
  kpi: kpi ?? "",
  value: formatValue(kind, value),
  sets: sets?.map((entry) => ({ ...entry, value: formatValue(kind, entry.value) })),
});

/** Drafts the content of a change again, for another proposer. Unstated fields and the default tier stay empty. */
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

/** Drafts the promotion of a value to another target, for which reach and risk must be stated again. */
export const draftPromotion = (change: Change, query: URLSearchParams, name: string): Draft => ({
  ...parseDraft(query, name),
  ...copyContent(change),
  target: query.get("target") ?? change.target,
  summary: query.get("summary") ?? change.summary,
});

/** Drafts a change to the current value of the host product, without the expected gain of the old change. */
export const draftCurrentValue = (change: ChangeDetail, current: TargetValue, name: string): Draft => ({
  ...draftFromChange(change, name),
  summary: `Keep what the host product holds at ${change.target}`,
  rationale: "",
  expected_delta_k: "",
  value: formatValue(change.kind, current?.value),
});

/** Returns the fields of the request; empty ones are left out. `apply_when` is sent as typed if it is no time. */
export function makeProposalFields({ sets, kind, apply_when, value, ...texts }: Draft): Fields {
  const applyTime = new Date(apply_when);
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
    apply_when: Number.isNaN(applyTime.getTime()) ? apply_when || undefined : applyTime.toISOString(),
    value: sets ? undefined : parseValue(kind, value).json,
    sets: entries && JSON.stringify(entries),
  };
}

/** Returns the fields on which the policy decides; unstated ones are absent. */
export function readStatedFields(draft: Draft) {
  const { tenant_id, kind, target, affected_users, reversible, risk, tier, apply_when } = draft;
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
