/** A second implementation of the rules of consent, with which tests compare the state machine. It shares no code with it. */

/** The part of an intent on which consent depends; times in milliseconds. */
export interface Rules {
  approvers: string[] | undefined;
  required: number;
  self_approval: boolean;
  owners: { target: string; approvers: string[]; required: number }[];
  break_glass: { approvers: string[]; required: number } | undefined;
  forbiddenTarget: string | undefined;
  /** True if a proposal that requests the tier minor can be minor, for a target without owners. */
  allowsMinor: boolean;
  on_stale: "report" | "block";
  consent_ttl: number | undefined;
  approval_ttl: number | undefined;
  deniedPeriods: [from: number, to: number][];
  /** Key ids by name, for people who have a key. */
  keys: Readonly<Record<string, string>>;
  signed_only: boolean;
  /** Names that may apply and roll back; absent: all names. */
  operators?: string[] | undefined;
  /** Limits for the value of one target: a maximum, and the largest step within a number of milliseconds. */
  limit?: Limit | undefined;
  /** Modes of automatic apply that the policy allows; absent: none. */
  allowedApplyWhen?: readonly ("approved" | "scheduled")[] | undefined;
  /** Permissions for automatic changes, and for changes of agents, to be minor. */
  minorOptions?: { apply_when: boolean; agents: boolean } | undefined;
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
  periodMs: number;
}

/** An apply or a rollback of a target; `value` is the number that its change sets. */
export interface TargetOperation {
  at: number;
  id: string;
  value: number | undefined;
  action: "apply" | "rollback";
}

/** A change in the model. */
export interface ModelChange {
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
  consents: Consent[];
  /** The change in force on the target at the last approval. */
  changeInForceAtApproval: string | null;
  review: "none" | "due" | "done";
  /** When the service applies the change: once approved, or at a time in milliseconds. Absent: a person applies it. */
  apply_when?: "approved" | number | undefined;
  /** True if a person has to apply the change although `apply_when` is set. */
  stopped?: boolean;
}

/** A consent; `key` is the id of the key that signed it. */
interface Consent {
  name: string;
  emergency: boolean;
  key: string | undefined;
}

/** A request about a change; `name` is the caller, and `key` the id of the key that signs the request. */
export interface ChangeRequest {
  action: "approve" | "deny" | "withdraw" | "revoke" | "apply" | "rollback" | "review";
  name: string;
  emergency?: boolean;
  key?: string | undefined;
}

/** The rules, the clock and the state of the target on which the answer to a request depends. */
export interface World {
  rules: Rules;
  now: number;
  /** The timestamp of the next entry, which is never before that of the previous one. Absent: now. */
  entryTime?: number;
  /** The latest time that has certainly passed, which may be before the time of the clock. Absent: now. */
  certain?: number;
  frozen: boolean;
  /** The newest applied change of the target. */
  changeInForce: string | null;
  /** Time of the last rollback of the target, unless a person has approved a change of it since. */
  lastRollbackAt?: number | undefined;
  /** Applies and rollbacks of the target, the oldest first. */
  history?: readonly TargetOperation[];
  /** Number of open changes of the proposing agent, and times of all its proposals. */
  agentChanges?: { open: number; proposalTimes: readonly number[] };
}

/**
 * Returns the number from which a step is measured: the value in force at `start`, otherwise the last one applied before `start`,
 * otherwise the first one applied after it.
 */
function findStepBase(history: readonly TargetOperation[], start: number): number | undefined {
  const earlier = history.filter(({ at }) => at < start);
  const rolledBackIds = new Set(earlier.filter(({ action }) => action === "rollback").map(({ id }) => id));
  const listAppliedNumbers = (operations: readonly TargetOperation[]) =>
    operations.filter(({ action, value }) => action === "apply" && value !== undefined).map(({ value }) => value!);
  const inForce = listAppliedNumbers(earlier.filter(({ id }) => !rolledBackIds.has(id)));
  return inForce.at(-1) ?? listAppliedNumbers(earlier).at(-1) ?? listAppliedNumbers(history.slice(earlier.length))[0];
}

/** Compares a number with the limits of its target; returns `first` if the target had no number before. */
function compareWithLimit(
  { target, value }: Pick<ModelChange, "target" | "value">,
  { rules: { limit }, now, entryTime = now, history = [] }: World,
): "outside" | "first" | "within" {
  if (limit?.target !== target || value === undefined) return "within";
  if (value > limit.maximum) return "outside";
  const base = findStepBase(history, Math.max(now, entryTime) - limit.periodMs);
  if (base === undefined) return "first";
  return value - base > limit.step || base - value > limit.step ? "outside" : "within";
}

/** The actor of automatic applies. */
export const AUTOMATIC_ACTOR = "policy:apply_when";

/** Returns true if the intent names principals. */
const hasPrincipals = ({ keys, agents = {} }: Rules): boolean => Object.keys({ ...keys, ...agents }).length > 0;

/** Returns the error code if the caller of an unsigned request may not apply or roll back. */
function findPermissionError(
  { action, name }: ChangeRequest,
  { apply_when }: ModelChange,
  rules: Rules,
): string | undefined {
  const { operators, break_glass, keys, allowedApplyWhen = [] } = rules;
  if (name === AUTOMATIC_ACTOR)
    return allowedApplyWhen.includes(apply_when === "approved" ? "approved" : "scheduled")
      ? undefined
      : "not_permitted";
  if (!operators) return undefined;
  // In an emergency its approvers may also roll back.
  const listed = [...operators, ...(action === "rollback" ? (break_glass?.approvers ?? []) : [])];
  if (!listed.includes(normalizeName(name))) return "not_permitted";
  if (normalizeName(name) in keys) return "proof_required";
  // If the intent names principals, a name without keys proves nothing.
  return hasPrincipals(rules) ? "not_permitted" : undefined;
}

const DAY = 24 * 60 * 60 * 1000;

const normalizeName = (name: string): string => name.trim().toLowerCase();

const mustSign = (name: string, { keys, signed_only }: Rules): boolean => signed_only || normalizeName(name) in keys;

/** Returns true if a consent has the signature that the rules require. */
const hasRequiredSignature = ({ name, key }: Consent, rules: Rules): boolean =>
  !mustSign(name, rules) || (key !== undefined && rules.keys[normalizeName(name)] === key);

/** A freeze or unfreeze; `name` is the caller, and `key` the id of the key that signs the request. */
export interface ServiceRequest {
  action: "freeze" | "unfreeze";
  name: string;
  key?: string | undefined;
}

/** Returns the error code, or true if the service is frozen afterwards. A freeze by a person without keys needs no signature. */
export function decideServiceRequest(
  { action, name, key }: ServiceRequest,
  { rules, frozen }: Pick<World, "rules" | "frozen">,
): string | boolean {
  const listedKey = rules.keys[normalizeName(name)];
  const mayLift = rules.approvers && [...rules.approvers, ...(rules.break_glass?.approvers ?? [])];
  if (action === "unfreeze" && mayLift && !mayLift.includes(normalizeName(name))) return "not_permitted";
  if (key !== undefined && key !== listedKey) return "proof_invalid";
  if (key === undefined && (listedKey !== undefined || (action === "unfreeze" && rules.signed_only)))
    return "proof_required";
  if (action === "unfreeze" && !frozen) return "illegal_transition";
  return action === "freeze";
}

/** Returns the error code if a signature is invalid or missing. */
function findSignatureError({ action, name, key }: ChangeRequest, rules: Rules): string | undefined {
  // An agent is authenticated by its secret.
  if (rules.agents && name in rules.agents) return undefined;
  if (key !== undefined) return rules.keys[normalizeName(name)] === key ? undefined : "proof_invalid";
  if (action === "withdraw") {
    if (normalizeName(name) in rules.keys) return "proof_required";
    return rules.signed_only && !rules.self_approval ? "proposer_unknown" : undefined;
  }
  return mustSign(name, rules) ? "proof_required" : undefined;
}

/** Returns true if a change has all consents that the rules require. */
export const isComplete = (change: ModelChange, rules: Rules): boolean =>
  isEmergencyApproved(change, rules) || hasOrdinaryConsents(change, rules);

/** Returns true if a change is approved as an emergency, which needs a review. */
const isEmergencyApproved = (change: ModelChange, rules: Rules): boolean =>
  change.review !== "none" && hasEmergencyConsents(change, rules);

const hasOrdinaryConsents = (change: ModelChange, rules: Rules): boolean => countMissing(change, rules) === 0;

/** Returns true if a change sets a target; the target of a plan is its targets joined by a plus. */
const sets = (change: { target: string }, target: string): boolean => change.target.split("+").includes(target);

/** Returns the number of consents that the rules still require, summed over all rules. */
function countMissing(change: ModelChange, rules: Rules): number {
  const names = new Set(listValidNames(change, rules, false));
  if (!rules.self_approval) names.delete(normalizeName(change.proposer));
  const quorum = [...names].filter((name) => !rules.approvers || rules.approvers.includes(name));
  const owned = rules.owners
    .filter(({ target }) => sets(change, target))
    .map(({ approvers, required }) => required - approvers.filter((name) => names.has(name)).length);
  const needed = change.required === 0 ? 0 : Math.max(change.required, rules.required);
  return [needed - quorum.length, ...owned].reduce((sum, count) => sum + Math.max(0, count), 0);
}

/** Returns the names of the consents, or of the emergency consents, that have the required signature. */
const listValidNames = (change: ModelChange, rules: Rules, isEmergency: boolean): string[] =>
  change.consents
    .filter((consent) => consent.emergency === isEmergency && hasRequiredSignature(consent, rules))
    .map(({ name }) => normalizeName(name));

function hasEmergencyConsents(change: ModelChange, rules: Rules): boolean {
  const { break_glass, self_approval } = rules;
  if (!break_glass) return false;
  const names = new Set(listValidNames(change, rules, true));
  if (!self_approval) names.delete(normalizeName(change.proposer));
  return break_glass.approvers.filter((name) => names.has(name)).length >= break_glass.required;
}

const mayDecide = (name: string, change: ModelChange, rules: Rules): boolean =>
  !rules.approvers ||
  rules.approvers.includes(name) ||
  rules.owners.some((owner) => sets(change, owner.target) && owner.approvers.includes(name));

/** Returns true for a person who consented to a change or, if none of those may still decide, who may approve it. */
function mayRevoke(name: string, change: ModelChange, rules: Rules): boolean {
  if (change.consents.some((consent) => normalizeName(consent.name) === name)) return true;
  const canStillDecide = (consent: Consent): boolean =>
    (!rules.signed_only || normalizeName(consent.name) in rules.keys) &&
    (mayDecide(normalizeName(consent.name), change, rules) ||
      (consent.emergency && rules.break_glass?.approvers.includes(normalizeName(consent.name)) === true));
  return change.status === "approved" && !change.consents.some(canStillDecide) && mayDecide(name, change, rules);
}

/** A proposal; `key` is the id of the key that signs it. */
export interface ProposalRequest {
  target: string;
  value?: number | undefined;
  proposer: string;
  requestsMinor: boolean;
  key?: string | undefined;
  tenant?: string | undefined;
  kind?: string | undefined;
  apply_when?: "approved" | number | undefined;
}

/** Returns true if a proposal is in the scope of its agent. */
const isInScope = (
  { target, tenant = "t1", kind = "config" }: ProposalRequest,
  { targets, tenants, kinds }: Scope,
): boolean =>
  [
    [targets, target],
    [tenants, tenant],
    [kinds, kind],
  ].every(([list, one]) => !list || list.includes(one as string));

/** Returns true if the rules allow the `apply_when` of a proposal. */
function isApplyWhenAllowed(
  { apply_when }: ProposalRequest,
  { allowedApplyWhen = [], consent_ttl, approval_ttl }: Rules,
  now: number,
) {
  if (apply_when === undefined) return true;
  if (apply_when === "approved") return allowedApplyWhen.includes("approved");
  if (!allowedApplyWhen.includes("scheduled") || apply_when <= now) return false;
  if (consent_ttl === undefined && approval_ttl === undefined) return true;
  return apply_when - now <= (consent_ttl ?? 0) + (approval_ttl ?? 0);
}

const toDay = (ms: number): number => Math.floor(ms / DAY);

/** Returns the error code, or the new change. */
export function decideProposal(proposal: ProposalRequest, world: World): string | ModelChange {
  const { target, value, proposer, requestsMinor, key, tenant, kind = "config", apply_when } = proposal;
  const { rules, now, entryTime = now, changeInForce, lastRollbackAt = -Infinity, agentChanges } = world;
  const scope = rules.agents?.[proposer];
  const limit = compareWithLimit({ target, value }, world);
  const isUnauthenticated = key === undefined && !scope && hasPrincipals(rules);
  const isOwned = rules.owners.some((owner) => sets(proposal, owner.target));
  const minorOptions = rules.minorOptions;
  const mayBeMinor =
    (apply_when === undefined || minorOptions?.apply_when) && (!scope || minorOptions?.agents) && kind === "config";
  // A first value has no base for its step, and a person must look at a target again after a rollback.
  const isMinor =
    requestsMinor &&
    rules.allowsMinor &&
    mayBeMinor &&
    !isUnauthenticated &&
    !isOwned &&
    limit !== "first" &&
    entryTime - lastRollbackAt > DAY;
  if (scope && !isInScope(proposal, scope)) return "agent_may_not";
  if (!isApplyWhenAllowed(proposal, rules, now)) return "invalid_field";
  if (rules.forbiddenTarget !== undefined && sets(proposal, rules.forbiddenTarget)) return "forbidden_target";
  if (limit === "outside") return "value_not_allowed";
  if (scope) {
    const today = agentChanges!.proposalTimes.filter((at) => toDay(at) === toDay(Math.max(now, entryTime)));
    if (agentChanges!.open >= scope.max_open || today.length >= scope.max_per_day) return "too_many_open";
  }
  if (key !== undefined && rules.keys[normalizeName(proposer)] !== key) return "proof_invalid";
  // An unproven name could hide that the proposer approves their own change.
  const mustAuthenticate = normalizeName(proposer) in rules.keys || (rules.signed_only && !rules.self_approval);
  if (key === undefined && !scope && mustAuthenticate) return "proposer_unknown";
  return {
    target,
    tenant,
    value,
    proposer,
    required: isMinor ? 0 : rules.required,
    status: isMinor ? "approved" : "pending_consent",
    resolution: null,
    created: entryTime,
    approved: isMinor ? entryTime : 0,
    consents: [],
    changeInForceAtApproval: isMinor ? changeInForce : null,
    review: "none",
    apply_when,
    stopped: false,
  };
}

/** Returns true if a window or a freeze blocks a change. */
const isBlocked = (change: ModelChange, { rules, now, frozen }: World): boolean =>
  !isEmergencyApproved(change, rules) && (frozen || rules.deniedPeriods.some(([from, to]) => from <= now && now < to));

/** Decides on an automatic change: wait, apply, or stop the automation with an error code, so that people have to apply. */
export function decideAutomaticApply(change: ModelChange, world: World): "none" | "wait" | "apply" | { stops: string } {
  const { now, certain = now } = world;
  const { status, apply_when, stopped, approved } = change;
  if (status !== "approved" || apply_when === undefined || stopped) return "none";
  const due = apply_when === "approved" ? approved : apply_when;
  // A scheduled apply waits until its time has certainly passed.
  if (now < due || (apply_when !== "approved" && certain < due)) return "wait";
  if (now > due + DAY) return certain > due + DAY ? { stops: "postponed_too_long" } : "wait";
  if (isBlocked(change, world)) return "wait";
  const applied = decideRequest(change, { action: "apply", name: AUTOMATIC_ACTOR }, world);
  return typeof applied === "string" ? { stops: applied } : "apply";
}

/** Returns true if a consent at `at` comes after the scheduled time of a change, so that people have to apply the change. */
export const isConsentTooLate = ({ status, apply_when, stopped }: ModelChange, at: number): boolean =>
  (status === "pending_consent" || status === "approved") &&
  typeof apply_when === "number" &&
  !stopped &&
  apply_when <= at;

/** Returns the error code, or the change after the request. */
export function decideRequest(change: ModelChange, request: ChangeRequest, world: World): string | ModelChange {
  const { action, name: spelling, emergency = false, key } = request;
  const { rules, now, entryTime = now, changeInForce } = world;
  const name = normalizeName(spelling);
  const isForbiddenSelfApproval = !rules.self_approval && name === normalizeName(change.proposer);
  const { status } = change;
  // A change that has expired only by the clock is not denied yet, but accepts no consent and no apply.
  if ((action === "approve" || action === "apply") && findExpiry(change, rules, now) !== undefined)
    return "illegal_transition";
  const requireSignature = (after: ModelChange): string | ModelChange => findSignatureError(request, rules) ?? after;
  const close = (resolution: string) => requireSignature({ ...change, status: "denied", resolution });
  switch (action) {
    case "approve": {
      const lacksConsent = emergency ? !isEmergencyApproved(change, rules) : !isComplete(change, rules);
      if (status !== "pending_consent" && !(status === "approved" && lacksConsent)) return "illegal_transition";
      if (emergency && !rules.break_glass?.approvers.includes(name)) return "not_an_approver";
      if (!emergency && !mayDecide(name, change, rules)) return "not_an_approver";
      if (isForbiddenSelfApproval) return "self_approval_forbidden";
      // If new rules require fewer consents, a pending change may lack none; one more consent then approves it.
      const lacksOnlyApproval = status === "pending_consent" && !emergency && hasOrdinaryConsents(change, rules);
      const mayRepeat = emergency ? hasEmergencyConsents(change, rules) : lacksOnlyApproval;
      if (!mayRepeat && listValidNames(change, rules, emergency).includes(name)) return "already_decided";
      const consent = { name: spelling, emergency, key };
      const stopped = change.stopped === true || isConsentTooLate(change, entryTime);
      const after = { ...change, consents: [...change.consents, consent], stopped };
      if (
        !emergency &&
        !lacksOnlyApproval &&
        hasRequiredSignature(consent, rules) &&
        countMissing(after, rules) === countMissing(change, rules)
      )
        return "not_an_approver";
      const isReached = emergency ? hasEmergencyConsents(after, rules) : hasOrdinaryConsents(after, rules);
      if (status === "pending_consent" && !isReached) return requireSignature(after);
      const review = emergency && isReached ? "due" : change.review;
      return requireSignature({
        ...after,
        status: "approved",
        review,
        changeInForceAtApproval: !emergency || isReached ? changeInForce : change.changeInForceAtApproval,
        approved: status === "approved" ? change.approved : entryTime,
      });
    }
    case "deny":
      if (status !== "pending_consent") return "illegal_transition";
      return mayDecide(name, change, rules) ? close("denied") : "not_an_approver";
    case "withdraw":
      if (status !== "pending_consent") return "illegal_transition";
      return name === normalizeName(change.proposer) ? close("withdrawn") : "not_the_proposer";
    case "revoke":
      if (status === "pending_consent" ? change.consents.length === 0 : status !== "approved")
        return "illegal_transition";
      return mayRevoke(name, change, rules) ? close("revoked") : "not_an_approver";
    case "apply":
      if (status !== "approved") return "illegal_transition";
      if (rules.forbiddenTarget !== undefined && sets(change, rules.forbiddenTarget)) return "forbidden_target";
      if (!isComplete(change, rules)) return "consent_incomplete";
      if (findPermissionError(request, change, rules)) return findPermissionError(request, change, rules)!;
      if (compareWithLimit(change, world) === "outside") return "value_not_allowed";
      if (rules.on_stale === "block" && change.changeInForceAtApproval !== changeInForce) return "target_moved";
      if (!isEmergencyApproved(change, rules)) {
        if (world.frozen) return "frozen";
        if (rules.deniedPeriods.some(([from, to]) => from <= now && now < to)) return "outside_window";
      }
      return { ...change, status: "applied" };
    case "rollback":
      if (status !== "applied") return "illegal_transition";
      return findPermissionError(request, change, rules) ?? { ...change, status: "rolled_back" };
    case "review":
      if (change.review !== "due" || status === "denied") return "illegal_transition";
      if (!mayDecide(name, change, rules)) return "not_an_approver";
      if (
        isForbiddenSelfApproval ||
        change.consents.some((consent) => consent.emergency && normalizeName(consent.name) === name)
      )
        return "self_approval_forbidden";
      return requireSignature({ ...change, review: "done" });
  }
}

/** Returns the resolution of a change that has expired at a time. */
function findExpiry(change: ModelChange, rules: Rules, at: number): "expired" | "lapsed" | undefined {
  if (change.status === "pending_consent" && at - change.created > (rules.consent_ttl ?? Infinity)) return "expired";
  if (change.status === "approved" && at - change.approved > (rules.approval_ttl ?? Infinity)) return "lapsed";
  return undefined;
}

/** Denies a change that has certainly expired. */
export function expireIfDue(
  change: ModelChange,
  { rules, now, certain = now }: Pick<World, "rules" | "now" | "certain">,
): ModelChange {
  const resolution = findExpiry(change, rules, now) && findExpiry(change, rules, certain);
  return resolution ? { ...change, status: "denied", resolution } : change;
}
