/** Changes inside the bounds of a mandate, by the entry of the proposal, by the content, and by the moment. */
import { type Detail, isObject, isWhole, asText } from "./json.ts";
import { type Intent, listPlaces, matchesAny } from "./intent.ts";
import { type Folded, listSystems } from "./mandate_fold.ts";
import { parseMoment } from "./moment.ts";
import { sameName } from "./policy.ts";
import { areAllowed } from "./schema.ts";

type Rule = NonNullable<Intent["mandates"]>;

/**
 * Returns the first bound that a proposal breaks by what its entry states: agent, kind, targets, tenants, systems. `own`: its
 * content, or the detail of the entry with its tenant.
 */
export function findPlaceBreach(own: Detail, proposal: Detail, mandate: Folded, rule: Rule): string | undefined {
  const { bounds } = mandate;
  const places = listPlaces(own) ?? [];
  const listed = (name: string): readonly unknown[] => (Array.isArray(bounds[name]) ? bounds[name] : []);
  const targets = listed("targets").flatMap((one) => asText(one) ?? []);
  const isCovered = ({ target }: { target: string }): boolean =>
    matchesAny(target, targets) && matchesAny(target, rule.targets);
  if (sameName(asText(own["proposer"]) ?? "") !== bounds["agent"]) return "agent";
  if (!listed("kinds").includes(own["kind"])) return "kinds";
  if (places.length === 0 || !places.every(isCovered)) return "targets";
  if (bounds["tenants"] !== "all" && !places.every(({ tenant }) => listed("tenants").includes(tenant)))
    return "tenants";
  const systems = listSystems(mandate);
  const reached: readonly unknown[] = Array.isArray(proposal["places"]) ? proposal["places"] : [];
  return reached.every((one) => isObject(one) && systems.includes(one["system"])) ? undefined : "systems";
}

/** Returns the first bound that a content breaks by itself; after an erasure values and users are gone. */
export function findContentBreach(content: Detail, isErased: boolean, { bounds }: Folded): string | undefined {
  if (content["reversible"] !== true) return "reversible";
  if (content["risk"] !== "low" && content["risk"] !== "medium") return "risk";
  const [users, reached] = [bounds["max_affected_users"], content["affected_users"]];
  const isOfFew = isErased ? reached === null : isWhole(reached, 0) && isWhole(users, 0) && reached <= users;
  if (users !== undefined && !isOfFew) return "max_affected_users";
  const { limits } = bounds;
  if (limits === undefined || isErased) return undefined;
  const sets = listSets(content);
  if (!sets.every((one) => isObject(one) && one["value"] !== undefined)) return "limits";
  const schema = isObject(limits) ? limits["schema"] : undefined;
  return schema === undefined || areAllowed(sets, schema) ? undefined : "schema";
}

/** The targets of a change with their values. */
export const listSets = (content: Detail): readonly unknown[] =>
  Array.isArray(content["sets"]) ? content["sets"] : [content];

/** Returns the bound that a content breaks under the intent. */
export function findRuleBreach(content: Detail, rule: Rule, { boundsRollouts }: Intent): string | undefined {
  const when = content["apply_when"];
  if (when !== undefined && !(when === "approved" && rule.automatic)) return "apply_when";
  return content["stages"] !== undefined && !boundsRollouts ? "stages" : undefined;
}

/** Checks that a mandate has begun and not ended at a moment. */
export function isInTime(timestamp: string, { bounds, first }: Folded, rule: Rule): boolean {
  const [from, until] = [asText(bounds["from"]) ?? "", asText(bounds["until"]) ?? ""];
  return timestamp >= from && timestamp < until && parseMoment(timestamp) < latestOf(first, rule);
}

const DAY_MS = 24 * 3600 * 1000;

/** Returns the end that the policy sets, in ms since 1970; a draft is no younger than its first signature. */
function latestOf(first: Folded["first"], { maxDays }: Rule): number {
  const [signed, drafted] = [first?.entry.timestamp, first?.detail["created_at"]].map((one) =>
    parseMoment(asText(one) ?? ""),
  ) as [number, number];
  return (drafted < signed ? drafted : signed) + maxDays * DAY_MS;
}

/** Returns the count that a consent breaks, or misstates; `entries`: how many targets the change has. */
export function findCountBreach(stated: Detail, entries: number, { bounds }: Folded, rule: Rule): string | undefined {
  const { number, left } = stated;
  const [perDay, mostOpen] = [bounds["max_per_day"], bounds["max_open"]];
  if (!isWhole(number, entries) || !isWhole(perDay, 1)) return "max_per_day";
  const [most, mostAtOnce] = [
    Math.min(perDay, rule.maxPerDay),
    Math.min(isWhole(mostOpen, 1) ? mostOpen : 0, rule.maxOpen),
  ];
  if (number > most) return "max_per_day";
  if (mostAtOnce < 1) return "max_open";
  const { today, open } = isObject(left) ? left : {};
  return today === most - number && isWhole(open, 0) && open < mostAtOnce ? undefined : "left";
}
