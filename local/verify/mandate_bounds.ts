/** Checks a change against the bounds of a mandate: by its proposal, its content, the time and the counts. */
import { type JsonObject, isObject, isIntegerAtLeast, stringOrUndefined } from "./json.ts";
import { type Intent, listTenantTargets, matchesAny } from "./intent.ts";
import { type MandateState, listSystems } from "./mandate_state.ts";
import { parseMoment } from "./parse_moment.ts";
import { normalizeName } from "./policy.ts";
import { areValuesAllowed } from "./schema.ts";

type MandatePolicy = NonNullable<Intent["mandates"]>;

/**
 * Returns the first of these bounds that a change breaks: agent, kinds, targets, tenants, systems. `subject`: its content, or
 * the detail of its proposal's entry with the tenant.
 */
export function findBrokenScopeBound(
  subject: JsonObject,
  proposal: JsonObject,
  mandate: MandateState,
  policy: MandatePolicy,
): string | undefined {
  const { bounds } = mandate;
  const tenantTargets = listTenantTargets(subject) ?? [];
  const listMembers = (name: string): readonly unknown[] => (Array.isArray(bounds[name]) ? bounds[name] : []);
  const targets = listMembers("targets").flatMap((one) => stringOrUndefined(one) ?? []);
  const isCovered = ({ target }: { target: string }): boolean =>
    matchesAny(target, targets) && matchesAny(target, policy.targets);
  if (normalizeName(stringOrUndefined(subject["proposer"]) ?? "") !== bounds["agent"]) return "agent";
  if (!listMembers("kinds").includes(subject["kind"])) return "kinds";
  if (tenantTargets.length === 0 || !tenantTargets.every(isCovered)) return "targets";
  if (bounds["tenants"] !== "all" && !tenantTargets.every(({ tenant }) => listMembers("tenants").includes(tenant)))
    return "tenants";
  const systems = listSystems(mandate);
  const places: readonly unknown[] = Array.isArray(proposal["places"]) ? proposal["places"] : [];
  return places.every((one) => isObject(one) && systems.includes(one["system"])) ? undefined : "systems";
}

/** Returns the first bound that a content breaks, without regard to time and counts; after an erasure, values and users are not checked. */
export function findBrokenContentBound(
  content: JsonObject,
  isErased: boolean,
  { bounds }: MandateState,
): string | undefined {
  if (content["reversible"] !== true) return "reversible";
  if (content["risk"] !== "low" && content["risk"] !== "medium") return "risk";
  const { max_affected_users: maxUsers } = bounds;
  const { affected_users: users } = content;
  // An erasure replaces the number of users by null.
  const areUsersAllowed = isErased
    ? users === null
    : isIntegerAtLeast(users, 0) && isIntegerAtLeast(maxUsers, 0) && users <= maxUsers;
  if (maxUsers !== undefined && !areUsersAllowed) return "max_affected_users";
  const { limits } = bounds;
  if (limits === undefined || isErased) return undefined;
  const sets = listSets(content);
  if (!sets.every((one) => isObject(one) && one["value"] !== undefined)) return "limits";
  const schema = isObject(limits) ? limits["schema"] : undefined;
  return schema === undefined || areValuesAllowed(sets, schema) ? undefined : "schema";
}

/** Lists the targets of a change with their values. */
export const listSets = (content: JsonObject): readonly unknown[] =>
  Array.isArray(content["sets"]) ? content["sets"] : [content];

/** Returns the rule of the intent for mandates that a content breaks. */
export function findBrokenPolicyBound(
  content: JsonObject,
  policy: MandatePolicy,
  { boundsRollouts }: Intent,
): string | undefined {
  const when = content["apply_when"];
  if (when !== undefined && !(when === "approved" && policy.automatic)) return "apply_when";
  return content["stages"] !== undefined && !boundsRollouts ? "stages" : undefined;
}

/** Checks that a time is within the period of a mandate, and before the latest end that the policy allows. */
export function isWithinPeriod(timestamp: string, { bounds, first }: MandateState, policy: MandatePolicy): boolean {
  const [from, until] = [stringOrUndefined(bounds["from"]) ?? "", stringOrUndefined(bounds["until"]) ?? ""];
  return timestamp >= from && timestamp < until && parseMoment(timestamp) < computeLatestEnd(first, policy);
}

const DAY_MS = 24 * 3600 * 1000;

/** Returns the latest end that the policy allows, in ms since 1970, counted from the draft or the first signature, whichever is earlier. */
function computeLatestEnd(first: MandateState["first"], { maxDays }: MandatePolicy): number {
  const [signed, drafted] = [first?.entry.timestamp, first?.detail["created_at"]].map((one) =>
    parseMoment(stringOrUndefined(one) ?? ""),
  ) as [number, number];
  // Unlike `Math.min`, this takes the time of the signature if `created_at` is no time (NaN).
  return (drafted < signed ? drafted : signed) + maxDays * DAY_MS;
}

/**
 * Returns the count that a consent exceeds or misstates. `stated`: the `mandate` of the consent, with the `number` of targets that
 * it approved on this day, this change's included, and the number of targets and open changes that are `left`. `entries`: number of
 * targets of the change.
 */
export function findBrokenCountBound(
  stated: JsonObject,
  entries: number,
  { bounds }: MandateState,
  policy: MandatePolicy,
): string | undefined {
  const { number, left } = stated;
  const [dailyBound, openBound] = [bounds["max_per_day"], bounds["max_open"]];
  if (!isIntegerAtLeast(number, entries) || !isIntegerAtLeast(dailyBound, 1)) return "max_per_day";
  const [maxPerDay, maxOpen] = [
    Math.min(dailyBound, policy.maxPerDay),
    Math.min(isIntegerAtLeast(openBound, 1) ? openBound : 0, policy.maxOpen),
  ];
  if (number > maxPerDay) return "max_per_day";
  if (maxOpen < 1) return "max_open";
  const { today, open } = isObject(left) ? left : {};
  // The change itself is open, so fewer than the maximum are left.
  return today === maxPerDay - number && isIntegerAtLeast(open, 0) && open < maxOpen ? undefined : "left";
}
