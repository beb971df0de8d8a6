/** The rules of consent once more, said another way: what the state machine is verified against. It shares no code with it. */

/** Rules as a test sets them; times in milliseconds. */
export interface Rules {
  approvers: string[] | undefined;
  required: number;
  self_approval: boolean;
  owners: { target: string; approvers: string[]; required: number }[];
  break_glass: { approvers: string[]; required: number } | undefined;
  forbidden: string | undefined;
  /** True if a change that says it is minor is, where its target has no owners. */
  minor: boolean;
  on_stale: "report" | "block";
  consent_ttl: number | undefined;
  approval_ttl: number | undefined;
  denied: [from: number, to: number][];
  /** The key that stands under a name, for those who have one. */
  keys: Readonly<Record<string, string>>;
  signed_only: boolean;
  /** Who alone may apply and roll back; absent: everybody. */
  operators?: string[] | undefined;
  /** The numbers that one target may get: so many at most, and in so many milliseconds no more than a step. */
  limit?: Limit | undefined;
  /** How changes may come to be applied by the service itself; absent: in no way. */
  automatic?: readonly ("approved" | "scheduled")[] | undefined;
  /** Changes that may also be minor: those that apply by themselves, and those of agents. */
  minor_may?: { apply_when: boolean; agents: boolean } | undefined;
  /** Agents by their names, and what each may propose. */
  agents?: Readonly<Record<string, Scope>> | undefined;
}

/** The changes that an agent may propose: absent lists hold everything. */
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

/** An apply or a rollback of a target: which change, and the number that it set. */
export interface Moved {
  at: number;
  id: string;
  value: number | undefined;
  what: "apply" | "rollback";
}

/** A change as the model keeps it. */
export interface Modelled {
  target: string;
  tenant?: string | undefined;
  value?: number | undefined;
  proposer: string;
  /** Consents of the tier when it was proposed; none: a minor change. */
  required: number;
  status: "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";
  resolution: string | null;
  created: number;
  approved: number;
  given: Given[];
  /** Whose change the target held at the last approval. */
  seen: string | null;
  review: "none" | "due" | "given";
  /** Applied by the service: once approved, or at a time in milliseconds. Absent: by a person. */
  apply_when?: "approved" | number | undefined;
  /** From now on a person applies it. */
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
  /** The time that an entry gets: never before that of the one before, whatever the clock says. Absent: now. */
  stamp?: number;
  /** The moment that has passed for certain, which a clock alone never says. Absent: now. */
  certain?: number;
  frozen: boolean;
  /** The newest applied change of the target. */
  holds: string | null;
  /** When the target was last rolled back, unless a person has approved a change of it since. */
  rolledBack?: number | undefined;
  /** Applies and rollbacks of the target, the oldest first. */
  history?: readonly Moved[];
  /** Changes of the agent that proposes: how many wait, and when it proposed them all. */
  own?: { open: number; times: readonly number[] };
}

/** The number from which a step is counted: of the start of the time, else the last one before it, else the first since. */
function baseOf(history: readonly Moved[], start: number): number | undefined {
  const early = history.filter(({ at }) => at < start);
  const gone = new Set(early.filter(({ what }) => what === "rollback").map(({ id }) => id));
  const numbers = (some: readonly Moved[]) =>
    some.filter(({ what, value }) => what === "apply" && value !== undefined).map(({ value }) => value!);
  const then = numbers(early.filter(({ id }) => !gone.has(id)));
  return then.at(-1) ?? numbers(early).at(-1) ?? numbers(history.slice(early.length))[0];
}

/** Judges a number: outside of what its target may get, within it, or the first that it gets. */
function limited(
  { target, value }: Pick<Modelled, "target" | "value">,
  { rules: { limit }, now, stamp = now, history = [] }: World,
): "outside" | "first" | "within" {
  if (limit?.target !== target || value === undefined) return "within";
  if (value > limit.maximum) return "outside";
  const base = baseOf(history, Math.max(now, stamp) - limit.ms);
  if (base === undefined) return "first";
  return value - base > limit.step || base - value > limit.step ? "outside" : "within";
}

/** The name under which the service applies a change by itself. */
export const ITSELF = "policy:apply_when";

/** Returns true where the intent says who anybody is. */
const saysWho = ({ keys, agents = {} }: Rules): boolean => Object.keys({ ...keys, ...agents }).length > 0;

/** Why somebody may not apply or roll back, who signs nothing. */
function barred({ what, name }: Ask, { apply_when }: Modelled, rules: Rules): string | undefined {
  const { operators, break_glass, keys, automatic = [] } = rules;
  if (name === ITSELF)
    return automatic.includes(apply_when === "approved" ? "approved" : "scheduled") ? undefined : "not_permitted";
  if (!operators) return undefined;
  const listed = [...operators, ...(what === "rollback" ? (break_glass?.approvers ?? []) : [])];
  if (!listed.includes(plain(name))) return "not_permitted";
  if (plain(name) in keys) return "proof_required";
  // A name without keys is only claimed once the intent knows who is who.
  return saysWho(rules) ? "not_permitted" : undefined;
}

const DAY = 24 * 60 * 60 * 1000;

const plain = (name: string): string => name.trim().toLowerCase();

const mustSign = (name: string, { keys, signed_only }: Rules): boolean => signed_only || plain(name) in keys;

/** Returns whether a consent is signed as it has to be today. */
const counts = ({ name, key }: Given, rules: Rules): boolean =>
  !mustSign(name, rules) || (key !== undefined && rules.keys[plain(name)] === key);

/** An act on the service, by whom, and the key it is signed with. */
export interface AskedAct {
  what: "freeze" | "unfreeze";
  name: string;
  key?: string | undefined;
}

/** The code of the refusal, or whether the service is frozen then. Stopping is safe: who has no key is taken at their word. */
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

/** Returns the fault of a signature, or of a missing one. */
function unsigned({ what, name, key }: Ask, rules: Rules): string | undefined {
  // An agent is known by its secret.
  if (rules.agents && name in rules.agents) return undefined;
  if (key !== undefined) return rules.keys[plain(name)] === key ? undefined : "proof_invalid";
  if (what === "withdraw") {
    if (plain(name) in rules.keys) return "proof_required";
    return rules.signed_only && !rules.self_approval ? "proposer_unknown" : undefined;
  }
  return mustSign(name, rules) ? "proof_required" : undefined;
}

/** Returns whether all consents that today's rules ask for are there. */
export const isComplete = (change: Modelled, rules: Rules): boolean =>
  isUrgent(change, rules) || ordinaryStands(change, rules);

/** An emergency is one that somebody reviews. */
const isUrgent = (change: Modelled, rules: Rules): boolean =>
  change.review !== "none" && emergencyStands(change, rules);

const ordinaryStands = (change: Modelled, rules: Rules): boolean => lacking(change, rules) === 0;

/** Returns true where a change sets a target: the target of a plan names all of its targets, with a plus between them. */
const sets = (change: { target: string }, target: string): boolean => change.target.split("+").includes(target);

/** How many consents today's rules still ask for, each rule by itself. */
function lacking(change: Modelled, rules: Rules): number {
  const names = new Set(standing(change, rules, false));
  if (!rules.self_approval) names.delete(plain(change.proposer));
  const quorum = [...names].filter((name) => !rules.approvers || rules.approvers.includes(name));
  const owned = rules.owners
    .filter(({ target }) => sets(change, target))
    .map(({ approvers, required }) => required - approvers.filter((name) => names.has(name)).length);
  const needed = change.required === 0 ? 0 : Math.max(change.required, rules.required);
  return [needed - quorum.length, ...owned].reduce((sum, count) => sum + Math.max(0, count), 0);
}

const standing = (change: Modelled, rules: Rules, urgent: boolean): string[] =>
  change.given.filter((given) => given.emergency === urgent && counts(given, rules)).map(({ name }) => plain(name));

function emergencyStands(change: Modelled, rules: Rules): boolean {
  const { break_glass, self_approval } = rules;
  if (!break_glass) return false;
  const names = new Set(standing(change, rules, true));
  if (!self_approval) names.delete(plain(change.proposer));
  return break_glass.approvers.filter((name) => names.has(name)).length >= break_glass.required;
}

const mayDecide = (name: string, change: Modelled, rules: Rules): boolean =>
  !rules.approvers ||
  rules.approvers.includes(name) ||
  rules.owners.some((owner) => sets(change, owner.target) && owner.approvers.includes(name));

/** Who approved may take it back; where an approval counts no more, anybody who may approve. */
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

/** Returns true where an agent may propose this at all. */
const isInScope = ({ target, tenant = "t1", kind = "config" }: Idea, { targets, tenants, kinds }: Scope): boolean =>
  [
    [targets, target],
    [tenants, tenant],
    [kinds, kind],
  ].every(([list, one]) => !list || list.includes(one as string));

/** Returns true where the rules let a change apply in its way, and at its time. */
function mayApplyItself({ apply_when }: Idea, { automatic = [], consent_ttl, approval_ttl }: Rules, now: number) {
  if (apply_when === undefined) return true;
  if (apply_when === "approved") return automatic.includes("approved");
  if (!automatic.includes("scheduled") || apply_when <= now) return false;
  if (consent_ttl === undefined && approval_ttl === undefined) return true;
  return apply_when - now <= (consent_ttl ?? 0) + (approval_ttl ?? 0);
}

const dayOf = (ms: number): number => Math.floor(ms / DAY);

/** The code of the refusal, or the new change. */
export function proposed(idea: Idea, world: World): string | Modelled {
  const { target, value, proposer, minor, key, tenant, kind = "config", apply_when } = idea;
  const { rules, now, stamp = now, holds, rolledBack = -Infinity, own } = world;
  const scope = rules.agents?.[proposer];
  const limit = limited({ target, value }, world);
  const isNobody = key === undefined && !scope && saysWho(rules);
  const isOwned = rules.owners.some((owner) => sets(idea, owner.target));
  const may = rules.minor_may;
  const isLet = (apply_when === undefined || may?.apply_when) && (!scope || may?.agents) && kind === "config";
  const isMinor =
    minor && rules.minor && isLet && !isNobody && !isOwned && limit !== "first" && stamp - rolledBack > DAY;
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

/** Returns true where a window or a freeze holds a change back. */
const isHeld = (change: Modelled, { rules, now, frozen }: World): boolean =>
  !isUrgent(change, rules) && (frozen || rules.denied.some(([from, to]) => from <= now && now < to));

/** Returns the next step of the service by itself with a change: it waits, applies it, or leaves it to people, for a reason. */
export function automated(change: Modelled, world: World): "none" | "wait" | "apply" | { stops: string } {
  const { now, certain = now } = world;
  const { status, apply_when, stopped, approved } = change;
  if (status !== "approved" || apply_when === undefined || stopped) return "none";
  const due = apply_when === "approved" ? approved : apply_when;
  // A time counts when it has passed for certain.
  if (now < due || (apply_when !== "approved" && certain < due)) return "wait";
  if (now > due + DAY) return certain > due + DAY ? { stops: "postponed_too_long" } : "wait";
  if (isHeld(change, world)) return "wait";
  const judged = answer(change, { what: "apply", name: ITSELF }, world);
  return typeof judged === "string" ? { stops: judged } : "apply";
}

/** Returns true where a consent of this moment comes after the time of a change, which then is left to people. */
export const isTooLate = ({ status, apply_when, stopped }: Modelled, at: number): boolean =>
  (status === "pending_consent" || status === "approved") &&
  typeof apply_when === "number" &&
  !stopped &&
  apply_when <= at;

/** The code of the refusal, or what the change is then. */
export function answer(change: Modelled, ask: Ask, world: World): string | Modelled {
  const { what, name: given, emergency = false, key } = ask;
  const { rules, now, stamp = now, holds } = world;
  const name = plain(given);
  const isOwn = !rules.self_approval && name === plain(change.proposer);
  const { status } = change;
  // A change that is over only by the clock is not denied yet, and accepts no consents.
  if ((what === "approve" || what === "apply") && overdue(change, rules, now) !== undefined)
    return "illegal_transition";
  const signed = <T>(done: T): string | T => unsigned(ask, rules) ?? done;
  const close = (resolution: string) => signed<Modelled>({ ...change, status: "denied", resolution });
  switch (what) {
    case "approve": {
      const lacks = emergency ? !isUrgent(change, rules) : !isComplete(change, rules);
      if (status !== "pending_consent" && !(status === "approved" && lacks)) return "illegal_transition";
      if (emergency && !rules.break_glass?.approvers.includes(name)) return "not_an_approver";
      if (!emergency && !mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn) return "self_approval_forbidden";
      // Rules that ask for less than they did leave changes that lack nothing: one more word moves them.
      const waits = status === "pending_consent" && !emergency && ordinaryStands(change, rules);
      const moves = emergency ? emergencyStands(change, rules) : waits;
      if (!moves && standing(change, rules, emergency).includes(name)) return "already_decided";
      const last = { name: given, emergency, key };
      const stopped = change.stopped === true || isTooLate(change, stamp);
      const after = { ...change, given: [...change.given, last], stopped };
      if (!emergency && !waits && counts(last, rules) && lacking(after, rules) === lacking(change, rules))
        return "not_an_approver";
      const reached = emergency ? emergencyStands(after, rules) : ordinaryStands(after, rules);
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
      if (barred(ask, change, rules)) return barred(ask, change, rules)!;
      if (limited(change, world) === "outside") return "value_not_allowed";
      if (rules.on_stale === "block" && change.seen !== holds) return "target_moved";
      if (!isUrgent(change, rules)) {
        if (world.frozen) return "frozen";
        if (rules.denied.some(([from, to]) => from <= now && now < to)) return "outside_window";
      }
      return { ...change, status: "applied" };
    case "rollback":
      if (status !== "applied") return "illegal_transition";
      return barred(ask, change, rules) ?? { ...change, status: "rolled_back" };
    case "review":
      if (change.review !== "due" || status === "denied") return "illegal_transition";
      if (!mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn || change.given.some((one) => one.emergency && plain(one.name) === name))
        return "self_approval_forbidden";
      return signed<Modelled>({ ...change, review: "given" });
  }
}

/** Returns the reason for which a waiting change is over at a moment. */
function overdue(change: Modelled, rules: Rules, at: number): "expired" | "lapsed" | undefined {
  if (change.status === "pending_consent" && at - change.created > (rules.consent_ttl ?? Infinity)) return "expired";
  if (change.status === "approved" && at - change.approved > (rules.approval_ttl ?? Infinity)) return "lapsed";
  return undefined;
}

/** Applies the effects of time on a change. */
export function aged(
  change: Modelled,
  { rules, now, certain = now }: Pick<World, "rules" | "now" | "certain">,
): Modelled {
  const resolution = overdue(change, rules, now) && overdue(change, rules, certain);
  return resolution ? { ...change, status: "denied", resolution } : change;
}
