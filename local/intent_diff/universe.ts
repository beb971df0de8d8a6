/** Collects the targets, tenants and names for which two intents are compared: all in their rules, and one for all others. */
import { canBeApprover } from "../../lib/changes/rules/approver_name.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import type { Intent } from "../../lib/changes/rules/intent.ts";
import { isCovered } from "../../lib/changes/rules/target_pattern.ts";

/** Stands for a person whom neither intent names. */
export const ANY_OTHER_PERSON = "everybody else";
/** Stands for a tenant that neither intent names. */
const OTHER_TENANT = "any other tenant";

/** A class of targets, by its pattern, for one tenant. */
export interface TargetClass {
  target: string;
  tenant: string;
}

/** Classes of targets and names for which rules are evaluated. */
export interface Universe {
  targets: readonly TargetClass[];
  names: readonly string[];
}

/** Collects the targets, tenants and names in the rules of two intents. */
export function collectUniverse(intents: readonly Intent[]): Universe {
  const patterns = new Set(["*"]);
  const tenants = new Set([OTHER_TENANT]);
  const names = new Set([ANY_OTHER_PERSON]);
  const collect = (rule: unknown, field = ""): void => {
    if (typeof rule !== "object" || rule === null) return;
    for (const [key, inner] of Object.entries(rule)) {
      // The keys of a list are indexes, so its elements belong to the field that has the list.
      const name = Array.isArray(rule) ? field : key;
      if (typeof inner !== "string") collect(inner, name);
      else if (TARGETS.has(name)) patterns.add(inner);
      else if (name === "tenants") tenants.add(inner);
    }
  };
  for (const { policy, principals } of intents) {
    collect([policy, principals]);
    const listed = [policy.approvers, policy.break_glass?.approvers, ...Object.values(policy.permissions)];
    for (const list of [...listed, ...policy.owners.map(({ approvers }) => approvers)])
      for (const name of list ?? []) names.add(name);
    for (const [name, { kind }] of Object.entries(principals)) if (kind === "person") names.add(name);
  }
  const allPatterns = addOverlaps([...patterns]);
  const targets = allPatterns.flatMap((target) => [...tenants].map((tenant) => ({ target, tenant })));
  return { targets, names: [...names].filter(canBeApprover) };
}

/** Fields that list patterns of targets. */
const TARGETS: ReadonlySet<string> = new Set(["targets", "forbidden_targets", "match"]);

/** Adds the intersections of patterns such as `a*` and `*b`: `a*b`. */
function addOverlaps(patterns: readonly string[]): string[] {
  const beginnings = patterns.filter((pattern) => /^[^*]+\*$/.test(pattern));
  const ends = patterns.filter((pattern) => /^\*[^*]+$/.test(pattern));
  return [...new Set([...patterns, ...beginnings.flatMap((one) => ends.map((other) => one.slice(0, -1) + other))])];
}

/** Creates a change of a class of targets, to evaluate rules with; it has only the fields that these rules read. */
export const makeChange = ({ target, tenant }: TargetClass, fields: Partial<Change> = {}): Change =>
  ({
    change_id: "",
    tenant_id: tenant,
    target,
    kind: "config",
    value: 0,
    tier: "standard",
    status: "pending_consent",
    required_approvers: 0,
    approvals: [],
    proposer: null,
    ...fields,
  }) as unknown as Change;

/** Describes classes of targets, as `price.* except price.eu.* for tenant "t1"`; it completes "Changes of {} may …". */
export function describeTargetClasses(classes: readonly TargetClass[], { targets: all }: Universe): string {
  const listPatterns = (list: readonly TargetClass[], tenant: string) =>
    list.filter((one) => one.tenant === tenant).map(({ target }) => target);
  const tenants = [...new Set(all.map(({ tenant }) => tenant))];
  const groups = new Map<string, string[]>();
  for (const tenant of tenants) {
    const targets = listPatterns(classes, tenant);
    if (targets.length === 0) continue;
    const text = describeTargets(targets, listPatterns(all, tenant));
    groups.set(text, [...(groups.get(text) ?? []), tenant]);
  }
  return [...groups].map(([text, groupTenants]) => `${text}${formatTenants(groupTenants, tenants)}`).join(", and of ");
}

function describeTargets(targets: readonly string[], all: readonly string[]): string {
  const isWithin = (target: string, others: readonly string[]) =>
    isCovered(
      target,
      others.filter((other) => other !== target),
    );
  const widest = targets.filter((target) => !isWithin(target, targets));
  const excluded = all.filter((target) => isCovered(target, widest) && !targets.includes(target));
  const exceptions = excluded.filter((target) => !isWithin(target, excluded));
  const text = widest.includes("*") ? "any target" : widest.join(", ");
  return exceptions.length === 0 ? text : `${text} except ${exceptions.join(", ")}`;
}

function formatTenants(tenants: readonly string[], all: readonly string[]): string {
  if (tenants.length === all.length) return "";
  const names = tenants.filter((tenant) => tenant !== OTHER_TENANT).map((tenant) => JSON.stringify(tenant));
  const parts = [
    ...(names.length > 0 ? [`${names.length === 1 ? "tenant" : "tenants"} ${names.join(", ")}`] : []),
    ...(tenants.includes(OTHER_TENANT) ? ["every tenant that no rule names"] : []),
  ];
  return ` for ${parts.join(" and ")}`;
}

/** Describes people. */
export const describeNames = (names: readonly string[]): string =>
  names.includes(ANY_OTHER_PERSON) ? ANY_OTHER_PERSON : names.map((name) => JSON.stringify(name)).join(", ");
