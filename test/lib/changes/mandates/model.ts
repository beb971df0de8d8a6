/** The rules of mandates once more, in plain words: the model that the service is compared with. It shares no code with it. */

export const HOUR = 60 * 60 * 1000;
export const DAY = 24 * HOUR;

/** Bounds that a mandate states; times in milliseconds. */
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

/** A signature; `seq`: its place in the order of all that happened. */
interface Signature {
  name: string;
  key: number;
  seq: number;
}

/** A mandate as the log makes it. */
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
  /** When it last began to count. */
  counts_from: number;
}

/** An owner rule: who must sign what. */
export interface OwnerRule {
  targets: string[];
  tenants?: string[] | undefined;
  approvers: string[];
}

/** The intent, as far as mandates depend on it. */
export interface Rules {
  approvers: string[];
  major: number;
  owners: OwnerRule[];
  /** The key of each person, of the two that they have. */
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
export interface Idea {
  agent: string;
  tenant: string;
  /** Its own name: of a plan, apart from its entries. */
  target: string;
  entries: Entry[];
  kind: string;
  users?: number | undefined;
  risk?: "low" | "high" | undefined;
  reversible?: boolean | undefined;
  itself: boolean;
}

/** A change, and the consents to it. */
export interface Change extends Idea {
  id: string;
  status: "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";
  approved_at: number;
  stopped: boolean;
  /** Consents of the tier when it was proposed. */
  required: number;
  isMajor: boolean;
  people: Signature[];
  mandate?: { id: string; seq: number; at: number } | undefined;
  /** Values of its places when it was proposed, and those that its apply replaced. */
  seen: (number | undefined)[];
  replaced: (number | undefined)[];
}

/** A value from a moment on; `owner`: the change that set it. */
interface Held {
  at: number;
  value: number | undefined;
}

/** Everything that happened. */
export interface World {
  rules: Rules;
  now: number;
  seq: number;
  address: string;
  kpis: Record<string, number>;
  mandates: Mandate[];
  changes: Change[];
  held: Map<string, Held[]>;
  owners: Map<string, string[]>;
  /** Rollbacks that no person has answered by an approval. */
  rolled_back: Map<string, number>;
  /** When a loss was last accepted. */
  loss: number;
}

/** People of whom `una` has a key that signs unattended. */
export const PEOPLE = ["ana", "bo", "cy", "una", "olga"];

/** KPIs, and whether more is better. */
export const KPIS: Record<string, 1 | -1> = { csat: 1, latency: -1 };

export const placeKey = ({ tenant, target }: { tenant: string; target: string }): string => `${tenant} ${target}`;

/** Patterns end with a star, or name one target. */
const matches = (target: string, patterns: string[]): boolean =>
  patterns.some((one) => (one.endsWith("*") ? target.startsWith(one.slice(0, -1)) : one === target));

/** Every target and tenant that a pattern of a history can tell apart, and one that none names. */
const TARGETS = ["p.a", "p.b", "p.c", "p.rest", "q.a", "q.rest", "rest"];
const TENANTS = ["t1", "t2", "rest"];
const isOwned = (place: { target: string; tenant: string }, { targets, tenants }: OwnerRule): boolean =>
  matches(place.target, targets) && (!tenants || tenants.includes(place.tenant));
const placesOf = (pattern: string, { tenants }: Pick<Bounds, "tenants">) =>
  TARGETS.filter((target) => matches(target, [pattern])).flatMap((target) =>
    (tenants === "all" ? TENANTS : tenants).map((tenant) => ({ target, tenant })),
  );

/** Returns why the policy allows no such mandate. */
export function notAllowed(bounds: Bounds, created: number, { mandates: rule, owners }: Rules): string[] {
  if (!rule) return ["mandate_not_allowed"];
  const covers = (pattern: string): boolean =>
    placesOf(pattern, { tenants: "all" }).every(({ target }) => matches(target, rule.targets));
  const isInPart = (pattern: string, owner: OwnerRule): boolean => {
    const owned = placesOf(pattern, bounds).map((place) => isOwned(place, owner));
    return owned.includes(true) && owned.includes(false);
  };
  const isBroken =
    !bounds.targets.every(covers) ||
    bounds.per_day > rule.per_day ||
    bounds.open > rule.open ||
    bounds.until > created + rule.days * DAY ||
    bounds.targets.some((pattern) => owners.some((owner) => isInPart(pattern, owner)));
  return isBroken ? ["mandate_not_allowed"] : [];
}

/** The end: its own, or that of the policy. */
export const findEnd = ({ bounds, created }: Mandate, { rules }: World): number =>
  Math.min(bounds.until, created + (rules.mandates?.days ?? Infinity) * DAY);

const ownersOf = ({ bounds }: Mandate, { owners }: Rules): OwnerRule[] =>
  owners.filter((rule) =>
    bounds.targets.some((pattern) => placesOf(pattern, bounds).some((place) => isOwned(place, rule))),
  );

export const maySign = (name: string, mandate: Mandate, { rules }: World): boolean =>
  rules.approvers.includes(name) || ownersOf(mandate, rules).some(({ approvers }) => approvers.includes(name));

/** Names whose signatures count now. */
export const listSigners = (mandate: Mandate, which: "signatures" | "resumes", world: World): string[] =>
  mandate[which]
    .filter(({ name, key, seq }) => {
      const isPending = which === "resumes" || mandate.state === "draft";
      return maySign(name, mandate, world) && world.rules.keys[name] === key && !(isPending && seq < world.loss);
    })
    .map(({ name }) => name);

/** How many signatures the quorum of major changes and the owners still ask for. */
export function lacking(names: string[], mandate: Mandate, { rules }: World): number {
  const quorum = rules.major - names.filter((name) => rules.approvers.includes(name)).length;
  const owned = ownersOf(mandate, rules).filter(({ approvers }) => !approvers.some((name) => names.includes(name)));
  return Math.max(0, quorum) + owned.length;
}

const isLost = ({ state, counts_from }: Mandate, { loss }: World): boolean => state === "active" && counts_from < loss;

/** The state that clients see. */
export function showState(mandate: Mandate, world: World): Mandate["state"] {
  if (mandate.state === "ended" || (mandate.state !== "draft" && world.now >= findEnd(mandate, world))) return "ended";
  return isLost(mandate, world) ? "suspended" : mandate.state;
}

/** Returns true where a KPI is worse than its floor. */
export const isBelow = ({ bounds: { floor = {} } }: Mandate, kpis: World["kpis"]): boolean =>
  Object.entries(floor).some(([kpi, least]) => kpis[kpi] !== undefined && KPIS[kpi]! * (kpis[kpi] - least) < 0);

/** Returns true where a mandate may approve, and what it approved may be applied. */
export function isInForce(mandate: Mandate, world: World): boolean {
  const { rules, kpis } = world;
  if (!rules.mandates || showState(mandate, world) !== "active" || isBelow(mandate, kpis)) return false;
  if (!rules.agents.includes(mandate.bounds.agent)) return false;
  if (lacking(listSigners(mandate, "signatures", world), mandate, world) > 0) return false;
  return mandate.resumes.length === 0 || lacking(listSigners(mandate, "resumes", world), mandate, world) === 0;
}

const valueAt = (world: World, place: string, at: number): number | undefined =>
  world.held.get(place)?.findLast((one) => one.at <= at)?.value;

/** Returns the value of a place now. */
export const valueNow = (world: World, entry: Entry): number | undefined => valueAt(world, placeKey(entry), world.now);

/** Names the bounds of a mandate that a change breaks, apart from counts. */
export function broken(idea: Idea, mandate: Mandate, world: World): string[] {
  const { bounds, address, signed_at } = mandate;
  const { now, rules } = world;
  if (!isInForce(mandate, world)) return ["state"];
  const is: string[] = [];
  if (now < Math.max(bounds.from ?? 0, signed_at)) is.push("state", "from");
  if (!bounds.kinds.includes(idea.kind)) is.push("kinds");
  for (const { target, tenant } of [idea, ...idea.entries]) {
    if (!matches(target, bounds.targets) || !matches(target, rules.mandates!.targets)) is.push("targets");
    if (bounds.tenants !== "all" && !bounds.tenants.includes(tenant)) is.push("tenants");
  }
  if (idea.reversible !== true) is.push("reversible");
  if (idea.risk !== "low") is.push("risk");
  if (bounds.users !== undefined && !(idea.users !== undefined && idea.users <= bounds.users))
    is.push("max_affected_users");
  if (idea.itself && !rules.mandates!.apply_when) is.push("apply_when");
  if (address !== world.address) is.push("systems");
  for (const entry of idea.entries) {
    if (now - (world.rolled_back.get(placeKey(entry)) ?? -Infinity) <= DAY) is.push("rollback");
    const { minimum = -Infinity, maximum = Infinity, absolute, percent, hours } = bounds.limits ?? { hours: 0 };
    if (entry.value < minimum || entry.value > maximum) is.push("schema");
    if (absolute === undefined && percent === undefined) continue;
    const base = valueAt(world, placeKey(entry), now - hours * HOUR);
    const step = base === undefined ? Infinity : Math.abs(entry.value - base);
    if (step > (absolute ?? Infinity) || step * 100 > (percent ?? Infinity) * (base ?? 0)) is.push("max_step");
  }
  return is;
}

/** Entries that a mandate approved on the UTC day, and changes that wait for their apply. */
export function used({ id }: Mandate, { changes, now }: World): { today: number; open: number } {
  const day = (at: number): number => Math.floor(at / DAY);
  const own = changes.filter(({ mandate }) => mandate?.id === id);
  const today = own.filter(({ mandate }) => day(mandate!.at) === day(now));
  return {
    today: today.reduce((sum, { entries }) => sum + entries.length, 0),
    open: own.filter(({ status }) => status === "approved" || status === "pending_consent").length,
  };
}

/** The counts that hold: the smaller of the mandate's and the policy's. */
export const findRoom = ({ bounds }: Mandate, { rules: { mandates } }: World) => ({
  today: Math.min(bounds.per_day, mandates?.per_day ?? Infinity),
  open: Math.min(bounds.open, mandates?.open ?? Infinity),
});

/** Decides on a proposal: the mandate that approves it, or the bounds that it breaks of each. */
export function judge(idea: Idea, world: World): { by?: string; outside: { id: string; bounds: string[] }[] } {
  const outside = [];
  for (const mandate of world.mandates) {
    if (mandate.bounds.agent !== idea.agent || !["active", "suspended"].includes(showState(mandate, world))) continue;
    const bounds = broken(idea, mandate, world);
    const { today, open } = used(mandate, world);
    const room = findRoom(mandate, world);
    if (today + idea.entries.length > room.today) bounds.push("max_per_day");
    if (open + 1 > room.open) bounds.push("max_open");
    if (bounds.length === 0) return { by: mandate.id, outside };
    outside.push({ id: mandate.id, bounds });
  }
  return { outside };
}

const ownedBy = ({ entries, target, tenant }: Change, { owners }: Rules): OwnerRule[] =>
  owners.filter((rule) => [...entries, { target, tenant }].some((place) => isOwned(place, rule)));

export const mayApprove = (name: string, change: Change, { rules }: World): boolean =>
  rules.approvers.includes(name) || ownedBy(change, rules).some(({ approvers }) => approvers.includes(name));

/** Names whose consents to a change count now. */
export const listConsents = ({ people }: Change, { rules, loss }: World): string[] =>
  people.filter(({ name, key, seq }) => seq > loss && rules.keys[name] === key).map(({ name }) => name);

/** How many consents of people a change still needs. */
export function lackingPeople(names: string[], change: Change, { rules }: World): number {
  const needed = change.isMajor ? Math.max(change.required, rules.major) : 1;
  const quorum = needed - names.filter((name) => rules.approvers.includes(name)).length;
  const owned = ownedBy(change, rules).filter(({ approvers }) => !approvers.some((name) => names.includes(name)));
  return Math.max(0, quorum) + owned.length;
}

/** Returns the mandate whose consent to a change counts now, whether or not the change lies inside. */
export function mandateBehind({ mandate: given }: Change, world: World): Mandate | undefined {
  if (!given || given.seq < world.loss) return undefined;
  const mandate = world.mandates.find(({ id }) => id === given.id)!;
  return isInForce(mandate, world) ? mandate : undefined;
}

/** Returns true where a mandate still approves a change that lies inside it. */
export function isMandated(change: Change, world: World): boolean {
  const mandate = mandateBehind(change, world);
  return mandate !== undefined && broken(change, mandate, world).length === 0;
}

/** Returns why a change cannot be applied now. */
export function notApplicable(change: Change, world: World): string[] {
  if (change.status !== "approved") return ["illegal_transition"];
  const isMoved = change.entries.some((entry, index) => valueNow(world, entry) !== change.seen[index]);
  const isByPeople = lackingPeople(listConsents(change, world), change, world) === 0;
  const refused = isByPeople || isMandated(change, world) ? [] : ["consent_incomplete"];
  return isMoved && mandateBehind(change, world) ? [...refused, "target_moved"] : refused;
}

/** Suspends mandates that are active. */
export function suspend(world: World, which: (mandate: Mandate) => boolean): void {
  for (const mandate of world.mandates)
    if (mandate.state === "active" && which(mandate))
      Object.assign(mandate, { state: "suspended", revision: mandate.revision + 1, resumes: [] });
}
