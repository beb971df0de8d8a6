/** A second implementation of the rules of mandates, with which tests compare the service. It shares no code with the service. */

export const HOUR = 60 * 60 * 1000;
export const DAY = 24 * HOUR;

/** Bounds that a mandate states; times in milliseconds. A change may differ by `absolute` or `percent` from the value `hours` ago. */
export interface Bounds {
  agent: string;
  targets: string[];
  kinds: string[];
  tenants: string[] | "all";
  limits?: { minimum?: number; maximum?: number; absolute?: number; percent?: number; hours: number } | undefined;
  users?: number | undefined;
  per_day: number;
  open: number;
  floor?: Record<string, number> | undefined;
  from?: number | undefined;
  until: number;
}

/** A signature; `key` is the index of the key, and `actionNumber` the number of the action that added the signature. */
interface Signature {
  name: string;
  key: number;
  actionNumber: number;
}

/** A mandate. */
export interface Mandate {
  id: string;
  bounds: Bounds;
  created: number;
  address: string;
  state: "draft" | "active" | "suspended" | "ended";
  revision: number;
  signatures: Signature[];
  signed_at: number;
  resumes: Signature[];
  /** Number of the action that last made the mandate active. */
  activation_number: number;
}

/** A rule of policy.owners. */
export interface OwnerRule {
  targets: string[];
  tenants?: string[] | undefined;
  approvers: string[];
}

/** The part of an intent on which mandates depend. */
export interface Rules {
  approvers: string[];
  major: number;
  owners: OwnerRule[];
  /** Index (0 or 1) of the key that the intent lists for each person. */
  keys: Record<string, number>;
  agents: string[];
  mandates?: { targets: string[]; days: number; per_day: number; open: number; apply_when: boolean } | undefined;
}

/** One value that a change sets. */
export interface Entry {
  tenant: string;
  target: string;
  value: number;
}

/** A proposal of an agent. */
export interface Proposal {
  agent: string;
  tenant: string;
  /** The target, or the name of a plan. */
  target: string;
  entries: Entry[];
  kind: string;
  users?: number | undefined;
  risk?: "low" | "high" | undefined;
  reversible?: boolean | undefined;
  isAutomatic: boolean;
}

/** A change with its consents. */
export interface Change extends Proposal {
  id: string;
  status: "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";
  approved_at: number;
  stopped: boolean;
  /** Number of consents that its tier required when it was proposed. */
  required: number;
  isMajor: boolean;
  people: Signature[];
  mandate?: { id: string; actionNumber: number; at: number } | undefined;
  /** Values of the targets when the change was proposed. */
  valuesAtProposal: (number | undefined)[];
  /** Values of the targets that the apply replaced. */
  replacedValues: (number | undefined)[];
}

/** A value and the time at which it was set. */
interface TimedValue {
  at: number;
  value: number | undefined;
}

/** State of the model; `address`: that of the target system by the current configuration. */
export interface World {
  rules: Rules;
  now: number;
  /** Number of the current action. */
  actionNumber: number;
  address: string;
  kpis: Record<string, number>;
  mandates: Mandate[];
  changes: Change[];
  /** Values of each target, the oldest first. */
  values: Map<string, TimedValue[]>;
  /** Ids of the applied changes of each target, the newest last. */
  appliedChanges: Map<string, string[]>;
  /** Times of rollbacks by target, until a person approves a change of the target. */
  rolled_back: Map<string, number>;
  /** Number of the action in which a loss of entries was last accepted. */
  lossAccepted: number;
}

/** Names of people; the keys of `una` sign unattended. */
export const PEOPLE = ["ana", "bo", "cy", "una", "olga"];

/** KPIs with the direction that is better. */
export const KPIS: Record<string, 1 | -1> = { csat: 1, latency: -1 };

export const targetKey = ({ tenant, target }: { tenant: string; target: string }): string => `${tenant} ${target}`;

/** Returns true if a pattern, a target or a prefix with a star, matches. */
const matches = (target: string, patterns: string[]): boolean =>
  patterns.some((one) => (one.endsWith("*") ? target.startsWith(one.slice(0, -1)) : one === target));

/** All targets and tenants that the patterns of these scenarios distinguish; `rest` stands for all others. */
const TARGETS = ["p.a", "p.b", "p.c", "p.rest", "q.a", "q.rest", "rest"];
const TENANTS = ["t1", "t2", "rest"];
/** Returns true if an owner rule applies to a target. */
const isOwned = (one: { target: string; tenant: string }, { targets, tenants }: OwnerRule): boolean =>
  matches(one.target, targets) && (!tenants || tenants.includes(one.tenant));
/** Lists the targets with their tenants that a pattern matches. */
const listMatches = (pattern: string, { tenants }: Pick<Bounds, "tenants">) =>
  TARGETS.filter((target) => matches(target, [pattern])).flatMap((target) =>
    (tenants === "all" ? TENANTS : tenants).map((tenant) => ({ target, tenant })),
  );

/** Returns the error codes if the policy does not allow a mandate. */
export function findPolicyErrors(bounds: Bounds, created: number, { mandates: policy, owners }: Rules): string[] {
  if (!policy) return ["mandate_not_allowed"];
  const covers = (pattern: string): boolean =>
    listMatches(pattern, { tenants: "all" }).every(({ target }) => matches(target, policy.targets));
  const isPartlyOwned = (pattern: string, owner: OwnerRule): boolean => {
    const owned = listMatches(pattern, bounds).map((one) => isOwned(one, owner));
    return owned.includes(true) && owned.includes(false);
  };
  const isBroken =
    !bounds.targets.every(covers) ||
    bounds.per_day > policy.per_day ||
    bounds.open > policy.open ||
    bounds.until > created + policy.days * DAY ||
    bounds.targets.some((pattern) => owners.some((owner) => isPartlyOwned(pattern, owner)));
  return isBroken ? ["mandate_not_allowed"] : [];
}

/** Returns the end of a mandate: its own or, if earlier, that of the policy. */
export const findEnd = ({ bounds, created }: Mandate, { rules }: World): number =>
  Math.min(bounds.until, created + (rules.mandates?.days ?? Infinity) * DAY);

const listOwnerRules = ({ bounds }: Mandate, { owners }: Rules): OwnerRule[] =>
  owners.filter((rule) =>
    bounds.targets.some((pattern) => listMatches(pattern, bounds).some((one) => isOwned(one, rule))),
  );

export const maySign = (name: string, mandate: Mandate, { rules }: World): boolean =>
  rules.approvers.includes(name) || listOwnerRules(mandate, rules).some(({ approvers }) => approvers.includes(name));

/** Returns the names whose signatures are valid now. */
export const listSigners = (mandate: Mandate, kind: "signatures" | "resumes", world: World): string[] =>
  mandate[kind]
    .filter(({ name, key, actionNumber }) => {
      const isPending = kind === "resumes" || mandate.state === "draft";
      return (
        maySign(name, mandate, world) &&
        world.rules.keys[name] === key &&
        !(isPending && actionNumber < world.lossAccepted)
      );
    })
    .map(({ name }) => name);

/** Returns the number of signatures that the quorum of major changes and the owners still require. */
export function countMissingSignatures(names: string[], mandate: Mandate, { rules }: World): number {
  const quorum = rules.major - names.filter((name) => rules.approvers.includes(name)).length;
  const owned = listOwnerRules(mandate, rules).filter(
    ({ approvers }) => !approvers.some((name) => names.includes(name)),
  );
  return Math.max(0, quorum) + owned.length;
}

/** Returns true if the entry that made a mandate active may have been lost. */
const isActivationLost = ({ state, activation_number }: Mandate, { lossAccepted }: World): boolean =>
  state === "active" && activation_number < lossAccepted;

/** Returns the state that clients see. */
export function currentState(mandate: Mandate, world: World): Mandate["state"] {
  if (mandate.state === "ended" || (mandate.state !== "draft" && world.now >= findEnd(mandate, world))) return "ended";
  return isActivationLost(mandate, world) ? "suspended" : mandate.state;
}

/** Returns true if a KPI is worse than its floor. */
export const isBelowFloor = ({ bounds: { floor = {} } }: Mandate, kpis: World["kpis"]): boolean =>
  Object.entries(floor).some(([kpi, limit]) => kpis[kpi] !== undefined && KPIS[kpi]! * (kpis[kpi] - limit) < 0);

/** Returns true if a mandate may approve changes, so that also the changes that it approved may be applied. */
export function isInForce(mandate: Mandate, world: World): boolean {
  const { rules, kpis } = world;
  if (!rules.mandates || currentState(mandate, world) !== "active" || isBelowFloor(mandate, kpis)) return false;
  if (!rules.agents.includes(mandate.bounds.agent)) return false;
  if (countMissingSignatures(listSigners(mandate, "signatures", world), mandate, world) > 0) return false;
  return (
    mandate.resumes.length === 0 || countMissingSignatures(listSigners(mandate, "resumes", world), mandate, world) === 0
  );
}

const valueAt = (world: World, key: string, at: number): number | undefined =>
  world.values.get(key)?.findLast((one) => one.at <= at)?.value;

/** Returns the current value of a target. */
export const currentValue = (world: World, entry: Entry): number | undefined =>
  valueAt(world, targetKey(entry), world.now);

/** Returns the bounds of a mandate that a proposal breaks, without `max_per_day` and `max_open`. */
export function listBrokenBounds(proposal: Proposal, mandate: Mandate, world: World): string[] {
  const { bounds, address, signed_at } = mandate;
  const { now, rules } = world;
  if (!isInForce(mandate, world)) return ["state"];
  const broken: string[] = [];
  if (now < Math.max(bounds.from ?? 0, signed_at)) broken.push("state", "from");
  if (!bounds.kinds.includes(proposal.kind)) broken.push("kinds");
  for (const { target, tenant } of [proposal, ...proposal.entries]) {
    if (!matches(target, bounds.targets) || !matches(target, rules.mandates!.targets)) broken.push("targets");
    if (bounds.tenants !== "all" && !bounds.tenants.includes(tenant)) broken.push("tenants");
  }
  if (proposal.reversible !== true) broken.push("reversible");
  if (proposal.risk !== "low") broken.push("risk");
  if (bounds.users !== undefined && !(proposal.users !== undefined && proposal.users <= bounds.users))
    broken.push("max_affected_users");
  if (proposal.isAutomatic && !rules.mandates!.apply_when) broken.push("apply_when");
  if (address !== world.address) broken.push("systems");
  for (const entry of proposal.entries) {
    if (now - (world.rolled_back.get(targetKey(entry)) ?? -Infinity) <= DAY) broken.push("rollback");
    const { minimum = -Infinity, maximum = Infinity, absolute, percent, hours } = bounds.limits ?? { hours: 0 };
    if (entry.value < minimum || entry.value > maximum) broken.push("schema");
    if (absolute === undefined && percent === undefined) continue;
    const base = valueAt(world, targetKey(entry), now - hours * HOUR);
    const step = base === undefined ? Infinity : Math.abs(entry.value - base);
    if (step > (absolute ?? Infinity) || step * 100 > (percent ?? Infinity) * (base ?? 0)) broken.push("max_step");
  }
  return broken;
}

/** Returns the number of entries that a mandate approved on this UTC day, and the number of its open changes. */
export function countUsed({ id }: Mandate, { changes, now }: World): { today: number; open: number } {
  const day = (at: number): number => Math.floor(at / DAY);
  const own = changes.filter(({ mandate }) => mandate?.id === id);
  const today = own.filter(({ mandate }) => day(mandate!.at) === day(now));
  return {
    today: today.reduce((sum, { entries }) => sum + entries.length, 0),
    open: own.filter(({ status }) => status === "approved" || status === "pending_consent").length,
  };
}

/** Returns the limits for `countUsed`: the smaller ones of the mandate and of the policy. */
export const findLimits = ({ bounds }: Mandate, { rules: { mandates } }: World) => ({
  today: Math.min(bounds.per_day, mandates?.per_day ?? Infinity),
  open: Math.min(bounds.open, mandates?.open ?? Infinity),
});

/** Returns the id of the mandate that approves a proposal, and the broken bounds of the mandates that do not. */
export function decideProposal(
  proposal: Proposal,
  world: World,
): { mandateId?: string; outside: { id: string; bounds: string[] }[] } {
  const outside = [];
  for (const mandate of world.mandates) {
    if (mandate.bounds.agent !== proposal.agent || !["active", "suspended"].includes(currentState(mandate, world)))
      continue;
    const bounds = listBrokenBounds(proposal, mandate, world);
    const { today, open } = countUsed(mandate, world);
    const limits = findLimits(mandate, world);
    if (today + proposal.entries.length > limits.today) bounds.push("max_per_day");
    if (open + 1 > limits.open) bounds.push("max_open");
    if (bounds.length === 0) return { mandateId: mandate.id, outside };
    outside.push({ id: mandate.id, bounds });
  }
  return { outside };
}

const listOwnerRulesOfChange = ({ entries, target, tenant }: Change, { owners }: Rules): OwnerRule[] =>
  owners.filter((rule) => [...entries, { target, tenant }].some((one) => isOwned(one, rule)));

export const mayApprove = (name: string, change: Change, { rules }: World): boolean =>
  rules.approvers.includes(name) ||
  listOwnerRulesOfChange(change, rules).some(({ approvers }) => approvers.includes(name));

/** Returns the names whose consents to a change are valid now. */
export const listConsents = ({ people }: Change, { rules, lossAccepted }: World): string[] =>
  people
    .filter(({ name, key, actionNumber }) => actionNumber > lossAccepted && rules.keys[name] === key)
    .map(({ name }) => name);

/** Returns the number of consents of people that a change still needs. */
export function countMissingConsents(names: string[], change: Change, { rules }: World): number {
  // A standard change needs one consent under every intent of these scenarios.
  const needed = change.isMajor ? Math.max(change.required, rules.major) : 1;
  const quorum = needed - names.filter((name) => rules.approvers.includes(name)).length;
  const owned = listOwnerRulesOfChange(change, rules).filter(
    ({ approvers }) => !approvers.some((name) => names.includes(name)),
  );
  return Math.max(0, quorum) + owned.length;
}

/** Returns the mandate that approved a change if the mandate is still in force, also for a change outside of its bounds. */
export function findValidMandate({ mandate: approval }: Change, world: World): Mandate | undefined {
  if (!approval || approval.actionNumber < world.lossAccepted) return undefined;
  const mandate = world.mandates.find(({ id }) => id === approval.id)!;
  return isInForce(mandate, world) ? mandate : undefined;
}

/** Returns true if the mandate that approved a change is in force and still covers it. */
export function isMandated(change: Change, world: World): boolean {
  const mandate = findValidMandate(change, world);
  return mandate !== undefined && listBrokenBounds(change, mandate, world).length === 0;
}

/** Returns the error codes if a change cannot be applied now. */
export function findApplyErrors(change: Change, world: World): string[] {
  if (change.status !== "approved") return ["illegal_transition"];
  const hasTargetMoved = change.entries.some(
    (entry, index) => currentValue(world, entry) !== change.valuesAtProposal[index],
  );
  const hasAllConsents = countMissingConsents(listConsents(change, world), change, world) === 0;
  // A mandate approves only over the values at the proposal; people see the current ones, and these intents let them.
  const errors = hasAllConsents || isMandated(change, world) ? [] : ["consent_incomplete"];
  return hasTargetMoved && findValidMandate(change, world) ? [...errors, "target_moved"] : errors;
}

/** Suspends the active mandates that are affected. */
export function suspend(world: World, isAffected: (mandate: Mandate) => boolean): void {
  for (const mandate of world.mandates)
    if (mandate.state === "active" && isAffected(mandate))
      Object.assign(mandate, { state: "suspended", revision: mandate.revision + 1, resumes: [] });
}
