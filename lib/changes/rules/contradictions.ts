/** Rules of an intent that have no effect, mostly since they contradict each other, or by which a change cannot be applied in time. */
import { HOUR_MS } from "../../kit/days.ts";
import type { Intent } from "./intent.ts";
import { isCovered } from "./target_pattern.ts";

/**
 * Describes such rules, each by its field; `now` in milliseconds since the epoch. They are reported and do not prevent the load.
 */
export const findContradictions = ({ policy }: Pick<Intent, "policy">, now: number): string[] => [
  ...findEmptyMinor(policy),
  ...findPastWindows(policy, now),
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

const findEmptyMinor = ({ minor }: Policy): string[] =>
  (["kinds", "targets"] as const).flatMap((field) =>
    minor?.[field].length === 0 ? [`policy.minor has no effect: it names no ${field}`] : [],
  );

const findPastWindows = ({ windows }: Policy, now: number): string[] =>
  windows.deny.flatMap(({ to, yearly }, index) =>
    !yearly && Date.parse(to) <= now ? [`policy.windows.deny.${index} has no effect any more: it ended at ${to}`] : [],
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
