/** A second implementation of the rules of consent, with which tests compare the state machine. It shares no code with it. */

/** The part of an intent on which consent depends; times in milliseconds. */
export interface Rules {
  approvers: string[] | undefined;
  required: number;
  self_approval: boolean;
  owners: { target: string; approvers: string[]; required: number }[];
  break_glass: { approvers: string[]; required: number } | undefined;
  forbidden: string | undefined;
  /** True if a change without owners whose proposal asks for the tier minor is minor. */
  minor: boolean;
  on_stale: "report" | "block";
  consent_ttl: number | undefined;
  approval_ttl: number | undefined;
  denied: [from: number, to: number][];
  /** Key ids by name, for people who have a key. */
  keys: Readonly<Record<string, string>>;
  signed_only: boolean;
  /** Names that may apply and roll back; absent: all names. */
  operators?: string[] | undefined;
  /** Limits for the value of one target: a maximum, and the largest step within a number of milliseconds. */
  limit?: Limit | undefined;
  /** Ways in which the service may apply changes by itself; absent: none. */
  automatic?: readonly ("approved" | "scheduled")[] | undefined;
  /** Permissions for automatic changes, and for changes of agents, to be minor. */
  minor_may?: { apply_when: boolean; agents: boolean } | undefined;
  /** Scopes of agents by name. */
  agents?: Readonly<Record<string, Scope>> | undefined;
}

/** The changes that an agent may propose; an absent list allows all. */
export interface Scope {
  targets?: string[] | undefined;
  kinds?: string[] | undefined;
  tenants?: string[] | undefined;
  max_open: number;
  max_per_day: number;
}

interface Limit {
  target: string;
  maximum: number;
  step: number;
  ms: number;
}

/** An apply or a rollback of a target, with the change and the number that it set. */
export interface Moved {
  at: number;
  id: string;
  value: number | undefined;
  what: "apply" | "rollback";
}

/** A change in the model. */
export interface Modelled {
  target: string;
  tenant?: string | undefined;
  value?: number | undefined;
  proposer: string;
  /** Number of consents that its tier required when it was proposed; 0 for a minor change. */
  required: number;
  status: "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";
  resolution: string | null;
  created: number;
  approved: number;
  given: Given[];
  /** The change in force on the target at the last approval. */
  seen: string | null;
  review: "none" | "due" | "given";
  /** When the service applies it: once approved, or at a time in milliseconds. Absent: a person applies it. */
  apply_when?: "approved" | number | undefined;
  /** True if a person has to apply it although `apply_when` is set. */
  stopped?: boolean;
}

/** A consent, and the key it was signed with. */
interface Given {
  name: string;
  emergency: boolean;
  key: string | undefined;
}

/** A request, its caller, and the key that signs it. */
export interface Ask {
  what: "approve" | "deny" | "withdraw" | "revoke" | "apply" | "rollback" | "review";
  name: string;
  emergency?: boolean;
  key?: string | undefined;
}

/** The state other than the change. */
export interface World {
  rules: Rules;
  now: number;
  /** The timestamp of the next entry, which is never before that of the previous one. Absent: now. */
  stamp?: number;
  /** The latest time that has certainly passed, which may be before the time of the clock. Absent: now. */
  certain?: number;
  frozen: boolean;
  /** The newest applied change of the target. */
  holds: string | null;
  /** Time of the last rollback of the target, unless a person has approved a change of it since. */
  rolledBack?: number | undefined;
  /** Applies and rollbacks of the target, the oldest first. */
  history?: readonly Moved[];
  /** Changes of the proposing agent: the number of open ones, and the times of all its proposals. */
  own?: { open: number; times: readonly number[] };
}

/** Returns the number from which a step is measured: the value at `start`, else the last one before, else the first one since. */
function findStepBase(history: readonly Moved[], start: number): number | undefined {
  const early = history.filter(({ at }) => at < start);
  const rolledBack = new Set(early.filter(({ what }) => what === "rollback").map(({ id }) => id));
  const numbers = (some: readonly Moved[]) =>
    some.filter(({ what, value }) => what === "apply" && value !== undefined).map(({ value }) => value!);
  const inForce = numbers(early.filter(({ id }) => !rolledBack.has(id)));
  return inForce.at(-1) ?? numbers(early).at(-1) ?? numbers(history.slice(early.length))[0];
}

/** Compares a number with the limits of its target: outside, within, or the first number of the target. */
function compareWithLimit(
  { target, value }: Pick<Modelled, "target" | "value">,
  { rules: { limit }, now, stamp = now, history = [] }: World,
): "outside" | "first" | "within" {
  if (limit?.target !== target || value === undefined) return "within";
  if (value > limit.maximum) return "outside";
  const base = findStepBase(history, Math.max(now, stamp) - limit.ms);
  if (base === undefined) return "first";
  return value - base > limit.step || base - value > limit.step ? "outside" : "within";
}

/** The actor of applies that the service does by itself. */
export const ITSELF = "policy:apply_when";

/** Returns true if the intent names principals. */
const hasPrincipals = ({ keys, agents = {} }: Rules): boolean => Object.keys({ ...keys, ...agents }).length > 0;

/** Returns the error code if a caller without a signature may not apply or roll back. */
function findPermissionError({ what, name }: Ask, { apply_when }: Modelled, rules: Rules): string | undefined {
  const { operators, break_glass, keys, automatic = [] } = rules;
  if (name === ITSELF)
    return automatic.includes(apply_when === "approved" ? "approved" : "scheduled") ? undefined : "not_permitted";
  if (!operators) return undefined;
  const listed = [...operators, ...(what === "rollback" ? (break_glass?.approvers ?? []) : [])];
  if (!listed.includes(plain(name))) return "not_permitted";
  if (plain(name) in keys) return "proof_required";
  // If the intent names principals, a name without keys is only claimed.
  return hasPrincipals(rules) ? "not_permitted" : undefined;
}

const DAY = 24 * 60 * 60 * 1000;

const plain = (name: string): string => name.trim().toLowerCase();

const mustSign = (name: string, { keys, signed_only }: Rules): boolean => signed_only || plain(name) in keys;

/** Returns true if a consent has the signature that the rules require. */
const hasRequiredSignature = ({ name, key }: Given, rules: Rules): boolean =>
  !mustSign(name, rules) || (key !== undefined && rules.keys[plain(name)] === key);

/** A freeze or unfreeze, its caller, and the key that signs it. */
export interface AskedAct {
  what: "freeze" | "unfreeze";
  name: string;
  key?: string | undefined;
}

/** Returns the error code, or whether the service is frozen afterwards. A freeze without a key needs no signature. */
export function acted(
  { what, name, key }: AskedAct,
  { rules, frozen }: Pick<World, "rules" | "frozen">,
): string | boolean {
  const own = rules.keys[plain(name)];
  const mayLift = rules.approvers && [...rules.approvers, ...(rules.break_glass?.approvers ?? [])];
  if (what === "unfreeze" && mayLift && !mayLift.includes(plain(name))) return "not_permitted";
  if (key !== undefined && key !== own) return "proof_invalid";
  if (key === undefined && (own !== undefined || (what === "unfreeze" && rules.signed_only))) return "proof_required";
  if (what === "unfreeze" && !frozen) return "illegal_transition";
  return what === "freeze";
}

/** Returns the error code if a signature is invalid or missing. */
function findSignatureError({ what, name, key }: Ask, rules: Rules): string | undefined {
  // An agent is authenticated by its secret.
  if (rules.agents && name in rules.agents) return undefined;
  if (key !== undefined) return rules.keys[plain(name)] === key ? undefined : "proof_invalid";
  if (what === "withdraw") {
    if (plain(name) in rules.keys) return "proof_required";
    return rules.signed_only && !rules.self_approval ? "proposer_unknown" : undefined;
  }
  return mustSign(name, rules) ? "proof_required" : undefined;
}

/** Returns true if a change has all consents that the rules require. */
export const isComplete = (change: Modelled, rules: Rules): boolean =>
  isUrgent(change, rules) || hasOrdinaryConsents(change, rules);

/** Returns true if a change is approved as an emergency, which needs a review. */
const isUrgent = (change: Modelled, rules: Rules): boolean =>
  change.review !== "none" && hasEmergencyConsents(change, rules);

const hasOrdinaryConsents = (change: Modelled, rules: Rules): boolean => countMissing(change, rules) === 0;

/** Returns true if a change sets a target; the target of a plan is its targets joined by a plus. */
const sets = (change: { target: string }, target: string): boolean => change.target.split("+").includes(target);

/** Returns the number of consents that the rules still require, summed over all rules. */
function countMissing(change: Modelled, rules: Rules): number {
  const names = new Set(listValidNames(change, rules, false));
  if (!rules.self_approval) names.delete(plain(change.proposer));
  const quorum = [...names].filter((name) => !rules.approvers || rules.approvers.includes(name));
  const owned = rules.owners
    .filter(({ target }) => sets(change, target))
    .map(({ approvers, required }) => required - approvers.filter((name) => names.has(name)).length);
  const needed = change.required === 0 ? 0 : Math.max(change.required, rules.required);
  return [needed - quorum.length, ...owned].reduce((sum, count) => sum + Math.max(0, count), 0);
}

const listValidNames = (change: Modelled, rules: Rules, urgent: boolean): string[] =>
  change.given
    .filter((given) => given.emergency === urgent && hasRequiredSignature(given, rules))
    .map(({ name }) => plain(name));

function hasEmergencyConsents(change: Modelled, rules: Rules): boolean {
  const { break_glass, self_approval } = rules;
  if (!break_glass) return false;
  const names = new Set(listValidNames(change, rules, true));
  if (!self_approval) names.delete(plain(change.proposer));
  return break_glass.approvers.filter((name) => names.has(name)).length >= break_glass.required;
}

const mayDecide = (name: string, change: Modelled, rules: Rules): boolean =>
  !rules.approvers ||
  rules.approvers.includes(name) ||
  rules.owners.some((owner) => sets(change, owner.target) && owner.approvers.includes(name));

/** Returns true if a name may revoke a change: its approvers or, if none of them may decide any more, all who may approve. */
function mayRevoke(name: string, change: Modelled, rules: Rules): boolean {
  if (change.given.some((one) => plain(one.name) === name)) return true;
  const isAble = (one: Given): boolean =>
    (!rules.signed_only || plain(one.name) in rules.keys) &&
    (mayDecide(plain(one.name), change, rules) ||
      (one.emergency && rules.break_glass?.approvers.includes(plain(one.name)) === true));
  return change.status === "approved" && !change.given.some(isAble) && mayDecide(name, change, rules);
}

/** A proposal, its proposer, and the key that signs it. */
export interface Idea {
  target: string;
  value?: number | undefined;
  proposer: string;
  minor: boolean;
  key?: string | undefined;
  tenant?: string | undefined;
  kind?: string | undefined;
  apply_when?: "approved" | number | undefined;
}

/** Returns true if a proposal is in the scope of its agent. */
const isInScope = ({ target, tenant = "t1", kind = "config" }: Idea, { targets, tenants, kinds }: Scope): boolean =>
  [
    [targets, target],
    [tenants, tenant],
    [kinds, kind],
  ].every(([list, one]) => !list || list.includes(one as string));

/** Returns true if the rules allow the `apply_when` of a proposal. */
function mayApplyItself({ apply_when }: Idea, { automatic = [], consent_ttl, approval_ttl }: Rules, now: number) {
  if (apply_when === undefined) return true;
  if (apply_when === "approved") return automatic.includes("approved");
  if (!automatic.includes("scheduled") || apply_when <= now) return false;
  if (consent_ttl === undefined && approval_ttl === undefined) return true;
  return apply_when - now <= (consent_ttl ?? 0) + (approval_ttl ?? 0);
}

const dayOf = (ms: number): number => Math.floor(ms / DAY);

/** Returns the error code, or the new change. */
export function proposed(idea: Idea, world: World): string | Modelled {
  const { target, value, proposer, minor, key, tenant, kind = "config", apply_when } = idea;
  const { rules, now, stamp = now, holds, rolledBack = -Infinity, own } = world;
  const scope = rules.agents?.[proposer];
  const limit = compareWithLimit({ target, value }, world);
  const isUnknown = key === undefined && !scope && hasPrincipals(rules);
  const isOwned = rules.owners.some((owner) => sets(idea, owner.target));
  const may = rules.minor_may;
  const mayBeMinor = (apply_when === undefined || may?.apply_when) && (!scope || may?.agents) && kind === "config";
  const isMinor =
    minor && rules.minor && mayBeMinor && !isUnknown && !isOwned && limit !== "first" && stamp - rolledBack > DAY;
  if (scope && !isInScope(idea, scope)) return "agent_may_not";
  if (!mayApplyItself(idea, rules, now)) return "invalid_field";
  if (rules.forbidden !== undefined && sets(idea, rules.forbidden)) return "forbidden_target";
  if (limit === "outside") return "value_not_allowed";
  if (scope) {
    const today = own!.times.filter((at) => dayOf(at) === dayOf(Math.max(now, stamp)));
    if (own!.open >= scope.max_open || today.length >= scope.max_per_day) return "too_many_open";
  }
  if (key !== undefined && rules.keys[plain(proposer)] !== key) return "proof_invalid";
  const mustBeKnown = plain(proposer) in rules.keys || (rules.signed_only && !rules.self_approval);
  if (key === undefined && !scope && mustBeKnown) return "proposer_unknown";
  return {
    target,
    tenant,
    value,
    proposer,
    required: isMinor ? 0 : rules.required,
    status: isMinor ? "approved" : "pending_consent",
    resolution: null,
    created: stamp,
    approved: isMinor ? stamp : 0,
    given: [],
    seen: isMinor ? holds : null,
    review: "none",
    apply_when,
    stopped: false,
  };
}

/** Returns true if a window or a freeze blocks a change. */
const isHeld = (change: Modelled, { rules, now, frozen }: World): boolean =>
  !isUrgent(change, rules) && (frozen || rules.denied.some(([from, to]) => from <= now && now < to));

/** Returns what the service does with an automatic change: wait, apply it, or leave it to people for a reason. */
export function automated(change: Modelled, world: World): "none" | "wait" | "apply" | { stops: string } {
  const { now, certain = now } = world;
  const { status, apply_when, stopped, approved } = change;
  if (status !== "approved" || apply_when === undefined || stopped) return "none";
  const due = apply_when === "approved" ? approved : apply_when;
  // A scheduled time must have certainly passed.
  if (now < due || (apply_when !== "approved" && certain < due)) return "wait";
  if (now > due + DAY) return certain > due + DAY ? { stops: "postponed_too_long" } : "wait";
  if (isHeld(change, world)) return "wait";
  const judged = answer(change, { what: "apply", name: ITSELF }, world);
  return typeof judged === "string" ? { stops: judged } : "apply";
}

/** Returns true if a consent at this time is later than the scheduled time of a change, which people then have to apply. */
export const isTooLate = ({ status, apply_when, stopped }: Modelled, at: number): boolean =>
  (status === "pending_consent" || status === "approved") &&
  typeof apply_when === "number" &&
  !stopped &&
  apply_when <= at;

/** Returns the error code, or the change after the request. */
export function answer(change: Modelled, ask: Ask, world: World): string | Modelled {
  const { what, name: spelling, emergency = false, key } = ask;
  const { rules, now, stamp = now, holds } = world;
  const name = plain(spelling);
  const isOwn = !rules.self_approval && name === plain(change.proposer);
  const { status } = change;
  // A change that has expired by the clock, but not certainly, is not denied yet and accepts no consents.
  if ((what === "approve" || what === "apply") && overdue(change, rules, now) !== undefined)
    return "illegal_transition";
  const signed = <T>(done: T): string | T => findSignatureError(ask, rules) ?? done;
  const close = (resolution: string) => signed<Modelled>({ ...change, status: "denied", resolution });
  switch (what) {
    case "approve": {
      const lacks = emergency ? !isUrgent(change, rules) : !isComplete(change, rules);
      if (status !== "pending_consent" && !(status === "approved" && lacks)) return "illegal_transition";
      if (emergency && !rules.break_glass?.approvers.includes(name)) return "not_an_approver";
      if (!emergency && !mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn) return "self_approval_forbidden";
      // If new rules require fewer consents, a pending change may lack none; one more consent then approves it.
      const waits = status === "pending_consent" && !emergency && hasOrdinaryConsents(change, rules);
      const moves = emergency ? hasEmergencyConsents(change, rules) : waits;
      if (!moves && listValidNames(change, rules, emergency).includes(name)) return "already_decided";
      const last = { name: spelling, emergency, key };
      const stopped = change.stopped === true || isTooLate(change, stamp);
      const after = { ...change, given: [...change.given, last], stopped };
      if (
        !emergency &&
        !waits &&
        hasRequiredSignature(last, rules) &&
        countMissing(after, rules) === countMissing(change, rules)
      )
        return "not_an_approver";
      const reached = emergency ? hasEmergencyConsents(after, rules) : hasOrdinaryConsents(after, rules);
      if (status === "pending_consent" && !reached) return signed(after);
      const review = emergency && reached && change.review !== "due" ? "due" : change.review;
      const sees = !emergency || reached;
      return signed<Modelled>({
        ...after,
        status: "approved",
        review,
        seen: sees ? holds : change.seen,
        approved: status === "approved" ? change.approved : stamp,
      });
    }
    case "deny":
      if (status !== "pending_consent") return "illegal_transition";
      return mayDecide(name, change, rules) ? close("denied") : "not_an_approver";
    case "withdraw":
      if (status !== "pending_consent") return "illegal_transition";
      return name === plain(change.proposer) ? close("withdrawn") : "not_the_proposer";
    case "revoke":
      if (status === "pending_consent" ? change.given.length === 0 : status !== "approved") return "illegal_transition";
      return mayRevoke(name, change, rules) ? close("revoked") : "not_an_approver";
    case "apply":
      if (status !== "approved") return "illegal_transition";
      if (rules.forbidden !== undefined && sets(change, rules.forbidden)) return "forbidden_target";
      if (!isComplete(change, rules)) return "consent_incomplete";
      if (findPermissionError(ask, change, rules)) return findPermissionError(ask, change, rules)!;
      if (compareWithLimit(change, world) === "outside") return "value_not_allowed";
      if (rules.on_stale === "block" && change.seen !== holds) return "target_moved";
      if (!isUrgent(change, rules)) {
        if (world.frozen) return "frozen";
        if (rules.denied.some(([from, to]) => from <= now && now < to)) return "outside_window";
      }
      return { ...change, status: "applied" };
    case "rollback":
      if (status !== "applied") return "illegal_transition";
      return findPermissionError(ask, change, rules) ?? { ...change, status: "rolled_back" };
    case "review":
      if (change.review !== "due" || status === "denied") return "illegal_transition";
      if (!mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn || change.given.some((one) => one.emergency && plain(one.name) === name))
        return "self_approval_forbidden";
      return signed<Modelled>({ ...change, review: "given" });
  }
}

/** Returns the resolution of a change that has expired at a time. */
function overdue(change: Modelled, rules: Rules, at: number): "expired" | "lapsed" | undefined {
  if (change.status === "pending_consent" && at - change.created > (rules.consent_ttl ?? Infinity)) return "expired";
  if (change.status === "approved" && at - change.approved > (rules.approval_ttl ?? Infinity)) return "lapsed";
  return undefined;
}

/** Denies a change that has certainly expired. */
export function aged(
  change: Modelled,
  { rules, now, certain = now }: Pick<World, "rules" | "now" | "certain">,
): Modelled {
  const resolution = overdue(change, rules, now) && overdue(change, rules, certain);
  return resolution ? { ...change, status: "denied", resolution } : change;
}
