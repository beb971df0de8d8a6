/** Describes the rules of an intent, one sentence each, so that its authors see what the service enforces. */
import { listOwnedTargets } from "./contradictions.ts";
import type { Guardrail, Intent, Policy } from "./intent.ts";
import type { PermissionAction } from "./permission_lists.ts";
import { listPermittedNames } from "./permissions.ts";
import { describeMandates } from "./mandates_rule.ts";
import { listElectors } from "./policy.ts";
import { findAgentLimits } from "./principals.ts";
import { describePromotion } from "./promotion_rule.ts";
import { isCovered } from "./target_pattern.ts";

/** Describes all rules in force. It also says which rules forbid nothing, so that nobody assumes a protection. */
export function describeRules(intent: Intent): string[] {
  const { policy, kpis } = intent;
  const { required_approvers, forbidden_targets, guardrails } = policy;
  const { standard, major } = required_approvers;
  return [
    describeMinor(intent),
    `a standard change needs ${countConsents(standard)}, a major one ${countConsents(major)}`,
    describeDeciders(intent),
    describeSignatures(intent),
    policy.self_approval ? "a proposer may approve their own change" : "nobody may approve their own change",
    policy.consent_ttl_hours === undefined
      ? "a change waits for consent as long as it takes"
      : `a change that waits for consent longer than ${policy.consent_ttl_hours} hours expires`,
    ...describeOwners(policy),
    ...(policy.approval_ttl_hours === undefined
      ? []
      : [`an approved change that is not applied within ${policy.approval_ttl_hours} hours lapses`]),
    ...describeApplyWhen(policy),
    ...(policy.on_stale === "block"
      ? ["an apply is rejected when another change was applied on its target since the last consent"]
      : []),
    ...(policy.on_moved === "block"
      ? [
          "an apply is rejected when a target holds another value than a consent saw, and each consent must say what it saw",
        ]
      : []),
    ...(policy.on_drift === "restore"
      ? ["a value that was changed outside Countersign is restored by the next cycle, three times an hour at most"]
      : []),
    ...describeBreakGlass(policy),
    ...policy.windows.deny.map(describeDeniedPeriod),
    ...policy.windows.allow.map(
      ({ days, from, to, tz }) => `changes are applied on ${days.join(", ")} from ${from} to ${to} in ${tz}`,
    ),
    policy.on_conflict === "block"
      ? "a proposal on a target that has a live change is rejected"
      : "several live changes on one target are reported only",
    forbidden_targets.length > 0 ? `nobody may change ${forbidden_targets.join(", ")}` : "no target is forbidden",
    ...describeStages(policy),
    ...describeMandates(policy),
    ...policy.promotion.map(
      (rule) => `before a change is applied in ${rule.to.join(" or ")}, ${describePromotion(rule)}`,
    ),
    ...policy.targets.flatMap(describeValueRule),
    ...guardrails.map(describeGuardrail),
    Object.keys(kpis).length > 0 ? `goals are set for ${Object.keys(kpis).join(", ")}` : "no KPI has a goal",
    ...describePermissions(intent),
    ...Object.entries(policy.groups).map(describeGroup),
    ...describePrincipals(intent),
  ];
}

const quoteNames = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");

/** ` for tenant "t1"`; empty for all tenants. */
const describeTenants = (tenants: readonly string[] | undefined): string =>
  tenants ? ` for ${tenants.length === 1 ? "tenant" : "tenants"} ${quoteNames(tenants)}` : "";

function describeDeniedPeriod({
  from,
  to,
  reason,
  targets,
  tenants,
  yearly,
}: Policy["windows"]["deny"][number]): string {
  const subject = targets ? `no change of ${targets.join(", ")}` : "nothing";
  const repetition = yearly ? " and on these days of every later year" : "";
  const cause = reason === "" ? "" : `: ${reason}`;
  return `${subject}${describeTenants(tenants)} is applied from ${from} to ${to}${repetition}${cause}`;
}

const describeGroup = ([name, people]: [string, string[]]): string => `group:${name} stands for ${quoteNames(people)}`;

const countConsents = (count: number): string => (count === 1 ? "1 consent" : `${count} consents`);

/** Describes who may decide on any change, and who only on some. */
function describeDeciders(intent: Intent): string {
  const { approvers, owners, signing } = intent.policy;
  const electors = listElectors(intent);
  if (electors === undefined) return "anybody may approve or deny";
  const others = (approvers ?? []).filter((name) => !electors.includes(name));
  return [
    `only ${quoteNames(electors)} may approve or deny`,
    ...(owners.length > 0 ? ["owners may also approve or deny changes of their own targets"] : []),
    ...(others.length > 0 && signing.signedOnly ? [`${quoteNames(others)} without a key cannot`] : []),
  ].join("; ");
}

function describeSignatures({ policy: { signing } }: Intent): string {
  const names = quoteNames(Object.keys(signing.keys));
  if (names === "") return "no consent needs a signature";
  return `${names} must sign what they decide${signing.signedOnly ? ", and only signed consents count" : "; others are taken at their word"}`;
}

/** Describes the owners' rules. A consent of a person in both lists counts for owners and quorum. */
function describeOwners({ owners, approvers, forbidden_targets }: Intent["policy"]): string[] {
  return owners.flatMap(({ targets, tenants, approvers: names, required }) => {
    const changeable = targets.filter((target) => !isCovered(target, forbidden_targets));
    if (changeable.length === 0) return [];
    const isApproverAmongOwners = approvers === undefined || names.some((name) => approvers.includes(name));
    const counting = isApproverAmongOwners
      ? "; the consent of an owner who may approve any change counts for this and for the tier's number"
      : "; these do not count for the tier's number";
    return [
      `among the consents to a change of ${changeable.join(", ")}${describeTenants(tenants)} must be ${required} of ${quoteNames(names)}${counting}`,
    ];
  });
}

/** Describes automatic applies; empty if there are none. */
function describeApplyWhen({ apply_when }: Policy): string[] {
  const modes = [
    ...(apply_when.includes("approved") ? ["once it is approved"] : []),
    ...(apply_when.includes("scheduled") ? ["at a time"] : []),
  ];
  if (modes.length === 0) return [];
  return [
    `a proposal may ask to be applied by itself ${modes.join(" or ")}, which a window, a freeze or a busy target postpones for at most 24 hours`,
  ];
}

/** Describes the rules for rollouts in steps. */
function describeStages({ stages }: Policy): string[] {
  if (!stages) return [];
  const { targets, watch, fed_by, max_allowed, replaces_guardrails } = stages;
  const limits = Object.entries(max_allowed).map(([kpi, limit]) =>
    typeof limit === "object" ? `${kpi} by ${limit.relative} of it` : `${kpi} by ${limit}`,
  );
  return [
    [
      `a change of ${targets?.join(", ") ?? "any target"} may be rolled out in steps`,
      ...(watch.length > 0 ? [`it must watch ${watch.join(", ")}`] : []),
      ...(fed_by ? [`only ${quoteNames(fed_by)} may feed it`] : []),
      ...(limits.length > 0 ? [`it may allow a loss of ${limits.join(", ")} at most`] : []),
      ...(replaces_guardrails
        ? ["guardrails do not act on it for a KPI that it watches and whose loss max_allowed limits"]
        : []),
    ].join("; "),
  ];
}

function describeBreakGlass({ break_glass }: Intent["policy"]): string[] {
  if (!break_glass) return [];
  const { required, approvers, review_hours } = break_glass;
  return [
    `in an emergency ${countConsents(required)} of ${quoteNames(approvers)} suffices and passes windows and a freeze, to be reviewed within ${review_hours} hours`,
  ];
}

export function describeGuardrail({ kpi, max_regression, action, targets, hours }: Guardrail): string {
  const watchedChange = targets ? `of ${targets.join(", ")}, whatever KPI it names,` : `that names ${kpi}`;
  const watched = `the newest applied change ${watchedChange} is watched for ${hours} ${hours === 1 ? "hour" : "hours"} if it is reversible`;
  const consequence = action === "rollback" ? "it is rolled back" : "it is flagged";
  return `${watched}: when a feed shows ${kpi} worse by more than ${max_regression} than at its apply, ${consequence}`;
}

/** Longest schema (characters of JSON) that a sentence repeats. */
const MAX_SCHEMA_LENGTH = 300;

/** Describes a rule for the values of some targets, a sentence for each part of it. */
export function describeValueRule({
  match,
  schema,
  max_step,
  unit,
  kpi_required,
}: Policy["targets"][number]): string[] {
  const targets = match.join(", ");
  const text = JSON.stringify(schema);
  const { relative, absolute, hours, members } = max_step ?? {};
  const subject = members ? `each of ${members.join(", ")} in a value` : "a value";
  const step = relative === undefined ? `${absolute}${unit === undefined ? "" : ` ${unit}`}` : `${relative} of it`;
  return [
    ...(schema
      ? [`a value of ${targets} must match ${text.length > MAX_SCHEMA_LENGTH ? "its schema in policy.targets" : text}`]
      : []),
    ...(max_step
      ? [
          `${subject} of ${targets} may differ by ${step} at most from what the target held ${hours} ${hours === 1 ? "hour" : "hours"} before; a first value is not minor`,
        ]
      : []),
    ...(kpi_required ? [`a change of ${targets} must name the KPI that it is to move`] : []),
  ];
}

/** Actions in words. */
export const ACTION_TEXTS = {
  apply: "changes are applied",
  rollback: "changes are rolled back",
  freeze: "the service is frozen",
  restore: "values that were set elsewhere are restored",
  feed_kpis: "KPIs are fed",
  note: "late notes are added",
  unfreeze: "a freeze is lifted",
  erase: "contents are erased",
  accept_clock: "a clock is accepted",
  accept_loss: "a loss is accepted",
} as const satisfies Record<PermissionAction, string>;

/** Actions in words, as orders. */
const ACTION_ORDERS = {
  apply: "apply",
  rollback: "roll back",
  freeze: "freeze",
  restore: "restore values that were set elsewhere",
  feed_kpis: "feed KPIs",
  note: "add late notes",
  unfreeze: "lift a freeze",
  erase: "erase contents",
  accept_clock: "accept a clock",
  accept_loss: "accept a loss",
} as const satisfies Record<PermissionAction, string>;

/** Describes who may take which actions, one rule for each group of people. */
function describePermissions(intent: Intent): string[] {
  const ordersByPeople = new Map<string, string[]>();
  for (const [action, order] of Object.entries(ACTION_ORDERS) as [PermissionAction, string][]) {
    const names = listPermittedNames(action, intent);
    const people = names ? `only ${quoteNames(names)}` : "any authorised caller";
    ordersByPeople.set(people, [...(ordersByPeople.get(people) ?? []), order]);
  }
  const rules = [...ordersByPeople].map(([people, orders]) => `${people} may: ${orders.join(", ")}`);
  const checksNames = Object.keys(intent.policy.permissions).length > 0 && Object.keys(intent.principals).length > 0;
  return [...rules, ...(checksNames ? ["a name that is only claimed satisfies no list of policy.permissions"] : [])];
}

function describePrincipals({ principals }: Intent): string[] {
  const describeAgent = (name: string): string => {
    const { targets, kinds, tenants, read, max_open, max_per_day } = findAgentLimits(name, { principals });
    const limits = [
      ...(kinds ? [`only ${kinds.join(", ")}`] : []),
      ...(targets ? [`only on ${targets.join(", ")}`] : []),
      ...(tenants ? [`only${describeTenants(tenants)}`] : []),
      `${max_open} open changes and ${max_per_day} proposals a UTC day at most`,
      ...(read === "own" ? ["reads only what it proposed, where reads are protected"] : []),
    ];
    return `${JSON.stringify(name)} (${limits.join(", ")})`;
  };
  const listNames = (kind: string) => Object.keys(principals).filter((name) => principals[name]!.kind === kind);
  const people = listNames("person");
  const agents = listNames("agent");
  if (people.length === 0 && agents.length === 0) return ["the intent names nobody: names are taken at their word"];
  return [
    ...(people.length > 0 ? [`known as people are ${quoteNames(people)}`] : []),
    ...(agents.length > 0
      ? [
          `agents with a secret of their own, which propose and withdraw only, are ${agents.map(describeAgent).join(", ")}`,
        ]
      : ["there are no agents"]),
  ];
}

/** Describes the rule for minor changes: everything that a proposal must state and meet. */
function describeMinor({ policy, principals }: Intent): string {
  const { minor, owners, forbidden_targets } = policy;
  if (!minor) return "no change is minor";
  const { kinds, targets, tenants, max_affected_users, max_risk, max_per_day, agents, apply_when } = minor;
  if (kinds.length === 0 || targets.length === 0) return "no change is minor: policy.minor names no kind or no target";
  const owned = listOwnedTargets(owners, tenants);
  const minorTargets = targets.filter((target) => !isCovered(target, [...owned, ...forbidden_targets]));
  if (minorTargets.length === 0) return "no change is minor: every target of policy.minor has owners or is forbidden";
  const bounds = [
    max_affected_users === undefined ? "any number of people" : `at most ${max_affected_users} people`,
    `${max_risk} risk${max_risk === "low" ? "" : " at most"}`,
    max_per_day === undefined ? "any number a day" : `at most ${max_per_day} a day`,
    agents ? "an agent's proposal too" : "no agent's proposal",
    ...(apply_when ? ["also where it applies by itself"] : []),
    ...(owners.length > 0 ? ["no target that has owners"] : []),
    ...(Object.keys(principals).length > 0
      ? ["only of a proposer who is known by a signature, the proxy or a secret"]
      : []),
  ];
  return `a change of ${kinds.join(", ")} on ${minorTargets.join(", ")}${describeTenants(tenants)} may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: ${bounds.join(", ")}`;
}
