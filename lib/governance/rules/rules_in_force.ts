/** The intent's rules in words, one sentence each, so that whoever wrote them can see that they were understood. */
import type { Intent } from "./intent.ts";
import type { Principals } from "./principals.ts";
import type { Signing } from "./signing.ts";

/** What is in force; what forbids nothing is said too, since silence reads as safety. */
export function rulesInForce({ policy, kpis, principals }: Intent): string[] {
  const { minor, required_approvers, approvers, forbidden_targets, guardrails } = policy;
  const { standard, major } = required_approvers;
  return [
    minor ? minorRule(minor) : "no change is minor",
    `a standard change needs ${consents(standard)}, a major one ${consents(major)}`,
    approvers ? `only ${approvers.join(", ")} may approve or deny` : "anybody may approve or deny",
    signing(policy.signing),
    policy.self_approval ? "a proposer may approve their own change" : "nobody may approve their own change",
    policy.consent_ttl_hours === undefined
      ? "a change waits for consent as long as it takes"
      : `a change that waits for consent longer than ${policy.consent_ttl_hours} hours expires`,
    ...policy.owners.map(
      ({ targets, approvers, required }) =>
        `a change of ${targets.join(", ")} needs ${consents(required)} of ${approvers.join(", ")} as well`,
    ),
    ...(policy.approval_ttl_hours === undefined
      ? []
      : [`an approved change that is not applied within ${policy.approval_ttl_hours} hours lapses`]),
    ...(policy.on_stale === "block" ? ["a consent does not carry when its target has moved since"] : []),
    ...(policy.break_glass
      ? [
          `in an emergency ${consents(policy.break_glass.required)} of ${policy.break_glass.approvers.join(", ")} suffices, to be reviewed within ${policy.break_glass.review_hours} hours`,
        ]
      : []),
    ...policy.windows.deny.map(
      ({ from, to, reason }) => `nothing is applied from ${from} to ${to}${reason === "" ? "" : `: ${reason}`}`,
    ),
    ...policy.windows.allow.map(
      ({ days, from, to, tz }) => `changes are applied on ${days.join(", ")} from ${from} to ${to} in ${tz}`,
    ),
    policy.on_conflict === "block"
      ? "a proposal on a target that has a live change is refused"
      : "several live changes on one target are reported only",
    forbidden_targets.length > 0 ? `nobody may change ${forbidden_targets.join(", ")}` : "no target is forbidden",
    ...guardrails.map(
      ({ kpi, max_regression, action }) =>
        `when ${kpi} is worse by more than ${max_regression} within 24 hours of an apply, ${action === "rollback" ? "it is rolled back" : "that is marked"}`,
    ),
    Object.keys(kpis).length > 0 ? `goals are set for ${Object.keys(kpis).join(", ")}` : "no KPI has a goal",
    ...whoIsWho(principals),
  ];
}

function signing({ only, keys }: Signing): string {
  const names = Object.keys(keys).join(", ");
  if (names === "") return "no consent needs a signature";
  return `${names} must sign what they decide${only ? ", and only signed consents count" : "; others are taken at their word"}`;
}

const consents = (count: number): string => (count === 1 ? "1 consent" : `${count} consents`);

function whoIsWho(principals: Principals): string[] {
  const of = (kind: string): string =>
    Object.keys(principals)
      .filter((name) => principals[name]!.kind === kind)
      .join(", ");
  const [people, agents] = [of("person"), of("agent")];
  if (!people && !agents) return ["the intent names nobody: names are taken at their word"];
  return [
    ...(people ? [`known as people are ${people}`] : []),
    agents
      ? `agents with a secret of their own, which propose and withdraw only, are ${agents}`
      : "there are no agents",
  ];
}

function minorRule({
  kinds,
  targets,
  max_affected_users,
  max_risk,
  max_per_day,
  agents,
}: NonNullable<Intent["policy"]["minor"]>): string {
  if (kinds.length === 0 || targets.length === 0) return "no change is minor: policy.minor names no kind or no target";
  const bounds = [
    max_affected_users === undefined ? "any number of people" : `at most ${max_affected_users} people`,
    `${max_risk} risk`,
    max_per_day === undefined ? "any number a day" : `at most ${max_per_day} a day`,
    ...(agents ? ["an agent's proposal too"] : []),
  ];
  return `a change of ${kinds.join(", ")} on ${targets.join(", ")} may be minor, which needs no consent: ${bounds.join(", ")}`;
}
