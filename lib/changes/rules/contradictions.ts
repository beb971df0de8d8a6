/** Rules of an intent that contradict each other, so that one of them has no effect. */
import { HOUR_MS } from "../../kit/days.ts";
import type { Intent } from "./intent.ts";
import { isCovered } from "./target_pattern.ts";

/** Describes contradictions, each with the field that has no effect. They are reported and do not prevent the load. */
export const findContradictions = ({ policy }: Pick<Intent, "policy">): string[] => [
  ...findUselessMinorTargets(policy),
  ...findUselessOwners(policy),
  ...findShortApprovals(policy),
  ...findUselessValueRules(policy),
];

type Policy = Intent["policy"];

/** Lists the targets that have owners for all of these tenants; undefined: for every tenant. */
export const listOwnedTargets = (owners: Policy["owners"], tenants: readonly string[] | undefined): string[] =>
  owners.flatMap((rule) =>
    !rule.tenants || tenants?.every((tenant) => rule.tenants!.includes(tenant)) ? rule.targets : [],
  );

function findUselessMinorTargets({ minor, owners, forbidden_targets }: Policy): string[] {
  const owned = listOwnedTargets(owners, minor?.tenants);
  return (minor?.targets ?? []).flatMap((target, index) => {
    const field = `policy.minor.targets.${index} ${target}`;
    if (isCovered(target, forbidden_targets)) return [`${field} has no effect: forbidden_targets covers it`];
    return isCovered(target, owned) ? [`${field} has no effect: the targets have owners, and so are never minor`] : [];
  });
}

const findUselessOwners = ({ owners, forbidden_targets }: Policy): string[] =>
  owners.flatMap(({ targets }, rule) =>
    targets.flatMap((target, index) =>
      isCovered(target, forbidden_targets)
        ? [`policy.owners.${rule}.targets.${index} ${target} has no effect: forbidden_targets covers it`]
        : [],
    ),
  );

const findUselessValueRules = ({ targets, forbidden_targets }: Policy): string[] =>
  targets.flatMap(({ match }, rule) =>
    match.flatMap((target, index) =>
      isCovered(target, forbidden_targets)
        ? [`policy.targets.${rule}.match.${index} ${target} has no effect: forbidden_targets covers it`]
        : [],
    ),
  );

function findShortApprovals({ approval_ttl_hours: hours, windows }: Policy): string[] {
  if (hours === undefined) return [];
  return windows.deny.flatMap(({ from, to }, index) => {
    const closedHours = (Date.parse(to) - Date.parse(from)) / HOUR_MS;
    if (closedHours <= hours) return [];
    return [
      `policy.approval_ttl_hours is ${hours}, and policy.windows.deny.${index} lasts ${Math.round(closedHours)} hours: a change approved at its beginning lapses before it can be applied`,
    ];
  });
}
