/** Checks a change against the bounds of a mandate. Values, and limits that depend on the log, are checked elsewhere. Pure. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { TargetLocation } from "./change.ts";
import type { ProposeInput } from "./command.ts";
import { listGovernedEntries, listEntries } from "./list_entries.ts";
import type { EffectiveBounds } from "./mandate_allowed.ts";
import type { MandatesRule } from "./mandates_rule.ts";
import type { MandateRecord, MandateSystem } from "./mandate_record.ts";
import { normalizeName } from "./names.ts";
import { hasRolloutBounds, type StagesRule } from "./stages_rule.ts";
import { matchesAny } from "./target_pattern.ts";

/** A bound that a change violates, or for which it does not state the needed field. */
export interface BoundViolation {
  bound: string;
  message: string;
}

/** The rules and systems that a change is checked against. */
export interface BoundFacts {
  /** RFC 3339. */
  at: string;
  rule: MandatesRule;
  stages: StagesRule | undefined;
  /** Locations of the change's values. */
  places: readonly TargetLocation[] | undefined;
  /** The systems of the configuration now. */
  systems: readonly MandateSystem[];
}

type BoundedChange = Pick<
  ProposeInput,
  | "tenant_id"
  | "target"
  | "value"
  | "sets"
  | "kind"
  | "affected_users"
  | "risk"
  | "reversible"
  | "apply_when"
  | "stages"
  | "proposer"
>;

/** Returns the first bound that a change violates; undefined if it lies inside. */
export function findBoundViolation(
  change: BoundedChange,
  { systems: signedSystems }: Pick<MandateRecord, "systems">,
  bounds: EffectiveBounds,
  facts: BoundFacts,
): BoundViolation | undefined {
  const { at, rule, stages, places, systems } = facts;
  const createViolation = (bound: string, message: string): BoundViolation => ({ bound, message });
  if (change.proposer == null || normalizeName(change.proposer) !== bounds.agent)
    return createViolation("agent", `It is for ${bounds.agent} alone.`);
  if (at < bounds.from) return createViolation("from", `It begins at ${bounds.from}.`);
  if (at >= bounds.until) return createViolation("until", `It ended at ${bounds.until}.`);
  if (!bounds.kinds.includes(change.kind)) return createViolation("kinds", `It covers no ${change.kind}.`);
  for (const { target, tenant_id } of listGovernedEntries(change)) {
    if (!matchesAny(target, bounds.targets)) return createViolation("targets", `It does not cover ${target}.`);
    if (!matchesAny(target, rule.targets))
      return createViolation("targets", `policy.mandates does not cover ${target}.`);
    if (bounds.tenants !== "all" && !bounds.tenants.includes(tenant_id))
      return createViolation("tenants", `It does not cover tenant ${tenant_id}.`);
  }
  if (change.reversible !== true)
    return createViolation(
      "reversible",
      change.reversible === false ? "It covers no change that cannot be undone." : "State reversible: true.",
    );
  if (change.risk === undefined || change.risk === "high")
    return createViolation(
      "risk",
      change.risk === "high" ? "It covers no change of high risk." : "State risk, below high.",
    );
  if (bounds.max_affected_users !== undefined) {
    if (change.affected_users == null)
      return createViolation("max_affected_users", "State affected_users, which it bounds.");
    if (change.affected_users > bounds.max_affected_users)
      return createViolation("max_affected_users", `It covers ${bounds.max_affected_users} users at most.`);
  }
  if (change.apply_when !== undefined && !(change.apply_when === "approved" && rule.apply_when))
    return createViolation("apply_when", "policy.mandates allows no such change to apply by itself.");
  if (change.stages !== undefined && !hasRolloutBounds(stages))
    return createViolation(
      "stages",
      "policy.stages does not set watch, fed_by and a max_allowed of each KPI in watch.",
    );
  const unstated = bounds.limits && listEntries(change).find(({ value }) => value === undefined);
  if (unstated) return createViolation("limits", `State the value of ${unstated.target}, which it limits.`);
  for (const { system, target } of places ?? []) {
    const signedSystem = signedSystems.find(({ name }) => name === system);
    const currentSystem = systems.find(({ name }) => name === system);
    if (!signedSystem || !currentSystem || canonicalJson(signedSystem) !== canonicalJson(currentSystem))
      return createViolation("systems", `${target} is set in ${system}, which its signers did not see as it is now.`);
  }
  return undefined;
}
