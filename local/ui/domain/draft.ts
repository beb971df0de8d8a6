/** A proposal as it is typed: empty, given with the address, or made of a change whose place it takes. */
import type { Change, ChangeDetail, Kind, Risk, Tier } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import { EMPTY_VALUE, KINDS, type ValueDraft, valueDraftOf } from "./kinds.ts";
import { isUnstated } from "./sentences.ts";

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
    value: { ...EMPTY_VALUE, text: KINDS[kind].value === "json" ? given("value") : "" },
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
  const { value: _typed, apply_when, ...given } = draft;
  const at = new Date(apply_when);
  const filled = Object.entries(given).map(([field, text]) => [field, text.trim() === "" ? undefined : text.trim()]);
  return {
    ...Object.fromEntries(filled),
    apply_when: Number.isNaN(at.getTime()) ? apply_when || undefined : at.toISOString(),
    value,
  };
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
