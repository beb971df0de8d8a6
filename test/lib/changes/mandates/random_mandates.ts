/** Draws random intents, bounds and proposals for scenarios with mandates, and converts them for the service. */
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import type { dice } from "../../../support/dice.ts";
import type { Manifest } from "../../../support/intents.ts";
import { sshSigner } from "../../../support/passkeys.ts";
import { person, type Signer } from "../../../support/signed.ts";
import { type Bounds, DAY, HOUR, type Proposal, findPolicyErrors, type Rules, type World } from "./mandate_model.ts";

/** Draws an integer from 0 to one less than its argument. */
type Roll = ReturnType<typeof dice>;
const pick = <T>(list: readonly T[], roll: Roll): T => list[roll(list.length)]!;
/** Returns the value once in `interval` draws on average. */
const maybe = <T>(roll: Roll, interval: number, value: T): T | undefined => (roll(interval) === 0 ? value : undefined);
const iso = (ms: number): string => new Date(ms).toISOString();

/** Types of actions, which `run_scenario.ts` performs; frequent ones are listed several times. */
export const ACTION_TYPES = (
  "sign_new sign_new draft sign resume resume narrow narrow revoke propose propose propose propose propose propose propose " +
  "propose approve approve approve close apply apply apply apply rollback contest feed cycle cycle wait wait intent move loss"
).split(" ") as (
  | "sign_new"
  | "draft"
  | "sign"
  | "resume"
  | "narrow"
  | "revoke"
  | "propose"
  | "approve"
  | "close"
  | "apply"
  | "rollback"
  | "contest"
  | "feed"
  | "cycle"
  | "wait"
  | "intent"
  | "move"
  | "loss"
)[];

/** Two keys of each person; the intent lists one of them. The keys of `una` sign unattended. */
export const SIGNERS: Readonly<Record<string, readonly Signer[]>> = Object.fromEntries(
  ["ana", "bo", "cy", "una", "olga"].map((name) => {
    const type = name === "una" ? "ssh-ed25519" : "sk-ssh-ed25519@openssh.com";
    return [name, [sshSigner(type), sshSigner(type)]];
  }),
);

const AGENTS = ["agent:one", "agent:two"];
export const SECRETS: Readonly<Record<string, string>> = Object.fromEntries(AGENTS.map((name) => [name, `of ${name}`]));

/** Targets with their initial values. */
export const INITIAL_VALUES = ["t1", "t2"].flatMap((tenant) => [
  { tenant, target: "p.a", value: 100 },
  { tenant, target: "p.b", value: 100 },
  { tenant, target: "p.c", value: undefined },
  { tenant, target: "q.a", value: 100 },
]);

/** Draws an intent; the first one of a scenario allows mandates. */
export function drawRules(roll: Roll, isFirst: boolean): Rules {
  const approvers = pick(
    [
      ["ana", "bo"],
      ["ana", "bo", "cy", "una"],
      ["ana", "bo", "una"],
      ["ana", "cy"],
    ],
    roll,
  );
  const owners = pick(
    [
      [],
      [],
      [{ targets: ["p.*"], approvers: ["olga"] }],
      [{ targets: ["p.a"], approvers: ["olga"] }],
      [{ targets: ["q.*"], tenants: ["t1"], approvers: ["olga", "cy"] }],
    ],
    roll,
  );
  const keys = Object.fromEntries(Object.keys(SIGNERS).map((name) => [name, name === "bo" && roll(5) === 0 ? 1 : 0]));
  const mandates = {
    targets: pick([["*"], ["*"], ["p.*"], ["p.a", "q.*"]], roll),
    days: pick([30, 30, 5], roll),
    per_day: pick([50, 50, 4], roll),
    open: pick([20, 20, 2], roll),
    apply_when: roll(3) > 0,
  };
  return {
    approvers,
    major: 1 + roll(2),
    owners,
    keys,
    agents: !isFirst && roll(6) === 0 ? ["agent:one"] : AGENTS,
    mandates: !isFirst && roll(8) === 0 ? undefined : mandates,
  };
}

/** Converts rules to an intent. The intent limits the step of every target, so that the service records earlier values. */
export const toIntent = ({ approvers, major, owners, keys, agents, mandates }: Rules): Manifest => ({
  principals: {
    ...Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, person(SIGNERS[name]![key]!)])),
    ...Object.fromEntries(
      agents.map((name) => [
        name,
        {
          kind: "agent",
          token_sha256: portableSha256(SECRETS[name]!),
          may: { max_open: 1000, max_per_day: 1000 },
        },
      ]),
    ),
  },
  kpis: { csat: { baseline: 4, target: 5 }, latency: { baseline: 120, target: 80 } },
  policy: {
    approvers,
    required_approvers: { standard: 1, major },
    owners,
    apply_when: ["manual", "approved"],
    on_drift: "restore",
    targets: [{ match: ["*"], max_step: { absolute: 100_000, hours: 24 } }],
    ...(mandates && {
      mandates: {
        targets: mandates.targets,
        max_days: mandates.days,
        max_per_day: mandates.per_day,
        max_open: mandates.open,
        apply_when: mandates.apply_when,
      },
    }),
  },
});

/** Draws bounds that the policy allows, if a few tries find some. */
export function drawAllowedBounds(roll: Roll, world: World): Bounds {
  for (let tries = 0; ; tries++) {
    const bounds = drawBounds(roll, world);
    if (tries > 6 || findPolicyErrors(bounds, world.now, world.rules).length === 0) return bounds;
  }
}

/** Draws bounds, some of which the policy does not allow. The `hours` of limits are 0 if they have no step. */
export function drawBounds(roll: Roll, { now, rules }: World): Bounds {
  const policy = rules.mandates ?? { per_day: 50, open: 20, days: 30 };
  const step = roll(2) === 0 ? { absolute: 3 + roll(10) } : { percent: 3 + roll(8) };
  const limits = pick(
    [
      undefined,
      { ...step, hours: pick([1, 24, 48], roll) },
      { minimum: 80 + roll(20), maximum: 105 + roll(10), hours: 0 },
      { ...step, hours: 24, minimum: 80, maximum: 110 },
    ],
    roll,
  );
  return {
    agent: pick(AGENTS, roll),
    targets: pick([["p.*"], ["p.*"], ["*"], ["p.a"], ["p.a", "p.b"], ["q.*", "p.b"]], roll),
    kinds: pick([["config"], ["config", "feature_flag"]], roll),
    tenants: pick(["all", "all", ["t1"], ["t1", "t2"]] as const, roll) as Bounds["tenants"],
    limits,
    users: maybe(roll, 3, 50),
    per_day: roll(3) === 0 ? 1 + roll(6) : policy.per_day,
    open: roll(3) === 0 ? 1 + roll(4) : policy.open,
    floor: pick([undefined, undefined, { csat: 4 }, { latency: 110 }, { csat: 4, latency: 120 }], roll),
    from: maybe(roll, 8, now + (1 + roll(30)) * HOUR),
    until: now + (roll(10) === 0 ? policy.days + 1 : 2 + roll(policy.days - 2)) * DAY,
  };
}

const toLimitFields = ({ minimum, maximum, absolute, percent, hours }: NonNullable<Bounds["limits"]>) => ({
  ...(minimum !== undefined && { schema: { type: "number", minimum, maximum } }),
  ...(absolute !== undefined && { max_step: { absolute, hours } }),
  ...(percent !== undefined && { max_step: { relative: percent / 100, hours } }),
});

/** Converts bounds to the fields of the API. */
export const toBoundFields = ({
  limits,
  users,
  per_day,
  open,
  floor,
  from,
  until,
  ...bounds
}: Partial<Bounds>): object => ({
  ...bounds,
  ...(limits && { limits: toLimitFields(limits) }),
  ...(users !== undefined && { max_affected_users: users }),
  ...(per_day !== undefined && { max_per_day: per_day }),
  ...(open !== undefined && { max_open: open }),
  ...(floor && { kpi_floor: floor }),
  ...(from !== undefined && { from: iso(from) }),
  ...(until !== undefined && { until: iso(until) }),
});

/** Draws a change of one bound; `isNarrower` is false if the changed bound is wider or the same. */
export function drawNarrowing(before: Bounds, roll: Roll): { narrow: object; after: Bounds; isNarrower: boolean } {
  const isNarrower = roll(4) > 0;
  const direction = isNarrower ? 1 : -1;
  const moveCount = (count: number): number => Math.max(1, count - direction);
  const draw = (): Partial<Bounds> => {
    const { limits, floor = {} } = before;
    switch (roll(7)) {
      case 0:
        return { per_day: moveCount(before.per_day) };
      case 1:
        return { open: moveCount(before.open) };
      case 2:
        return { users: before.users === undefined ? 60 : Math.max(0, before.users - 20 * direction) };
      case 3:
        return { until: before.until - direction * 12 * HOUR };
      case 4:
        return isNarrower ? { targets: before.targets.slice(0, 1) } : { targets: [...before.targets, "p.d"] };
      case 5:
        return { floor: { ...floor, csat: (floor["csat"] ?? 3.5) + 0.5 * direction } };
      default: {
        if (!limits) return { limits: { minimum: 80, maximum: 120, hours: 0 } };
        const { hours, absolute, percent, minimum, maximum } = limits;
        return {
          limits: {
            hours: hours === 0 ? 0 : hours + direction,
            ...(absolute !== undefined && { absolute: isNarrower ? Math.max(1, absolute - 1) : absolute }),
            ...(percent !== undefined && { percent: isNarrower ? Math.max(1, percent - 1) : percent }),
            ...(minimum !== undefined && { minimum: minimum + direction, maximum: maximum! - direction }),
          },
        };
      }
    }
  };
  const changed = draw();
  const after = { ...before, ...changed };
  const isSame = JSON.stringify(after) === JSON.stringify(before);
  // A bound that the mandate does not have yet is always narrower.
  const [key] = Object.keys(changed) as (keyof Bounds)[];
  const isNew = before[key!] === undefined || (key === "floor" && before.floor?.["csat"] === undefined);
  return { narrow: toBoundFields(changed), after, isNarrower: !isSame && (isNarrower || isNew) };
}

/** Draws a proposal, most of them inside usual bounds. */
export function drawProposal(roll: Roll, { mandates }: World): Proposal {
  const entry = () => {
    const { tenant, target } = pick(roll(4) === 0 ? INITIAL_VALUES : INITIAL_VALUES.slice(0, 2), roll);
    return { tenant, target: roll(2) === 0 ? "p.a" : target, value: roll(8) === 0 ? 80 + roll(50) : 97 + roll(7) };
  };
  const drawn = Array.from({ length: roll(5) === 0 ? 2 + roll(2) : 1 }, entry);
  const entries = [...new Map(drawn.map((one) => [`${one.tenant} ${one.target}`, one])).values()];
  const [{ tenant, target }] = entries as [(typeof entries)[number]];
  const lastAgent = mandates.at(-1)?.bounds.agent;
  return {
    agent: lastAgent && roll(6) > 0 ? lastAgent : pick(AGENTS, roll),
    tenant,
    target: entries.length === 1 ? target : pick(["p.plan", "p.plan", "q.plan"], roll),
    entries,
    kind: roll(16) === 0 ? "feature_flag" : "config",
    users: pick([10, 10, 10, 10, 10, 10, 10, 30, 70, undefined], roll),
    risk: roll(12) > 0 ? "low" : pick(["high", undefined] as const, roll),
    reversible: roll(12) > 0 ? true : pick([false, undefined], roll),
    isAutomatic: roll(5) === 0,
  };
}

/** Converts a proposal to the fields of the API. */
export const toProposalFields = ({
  tenant,
  target,
  entries,
  kind,
  users,
  risk,
  reversible,
  isAutomatic,
}: Proposal): object => ({
  tenant_id: tenant,
  target,
  kind,
  summary: "Follow the market",
  ...(entries.length === 1
    ? { value: entries[0]!.value }
    : { sets: entries.map((one) => ({ tenant_id: one.tenant, target: one.target, value: one.value })) }),
  ...(users !== undefined && { affected_users: users }),
  ...(risk && { risk }),
  ...(reversible !== undefined && { reversible }),
  ...(isAutomatic && { apply_when: "approved" }),
});
