/** The rules of consent once more, said another way: what the state machine is held against. It shares no code with it. */

/** Rules as a test sets them; times in milliseconds. */
export interface Rules {
  approvers: string[] | undefined;
  required: number;
  self_approval: boolean;
  owners: { target: string; approvers: string[]; required: number }[];
  break_glass: { approvers: string[]; required: number } | undefined;
  forbidden: string | undefined;
  on_stale: "report" | "block";
  consent_ttl: number | undefined;
  approval_ttl: number | undefined;
  denied: [from: number, to: number][];
}

/** A change as the model keeps it. */
export interface Modelled {
  target: string;
  proposer: string;
  required: number;
  status: "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";
  resolution: string | null;
  created: number;
  approved: number;
  given: { name: string; emergency: boolean }[];
  /** Whose change the target held at the last approval. */
  seen: string | null;
  review: "none" | "due" | "given";
}

/** What is asked, and by whom. */
export interface Ask {
  what: "approve" | "deny" | "withdraw" | "revoke" | "apply" | "rollback" | "review";
  name: string;
  emergency?: boolean;
}

/** What is so beside the change. */
export interface World {
  rules: Rules;
  now: number;
  frozen: boolean;
  /** The newest applied change of the target. */
  holds: string | null;
}

const plain = (name: string): string => name.trim().toLowerCase();

/** Whether all consents that today's rules ask for are there. */
export const isComplete = (change: Modelled, rules: Rules): boolean =>
  isUrgent(change, rules) || ordinaryStands(change, rules);

/** An emergency is one that somebody reviews. */
const isUrgent = (change: Modelled, rules: Rules): boolean =>
  change.review !== "none" && emergencyStands(change, rules);

const ordinaryStands = (change: Modelled, rules: Rules): boolean => lacking(change, rules) === 0;

/** How many consents today's rules still ask for, each rule by itself. */
function lacking(change: Modelled, rules: Rules): number {
  const names = new Set(change.given.filter(({ emergency }) => !emergency).map(({ name }) => plain(name)));
  if (!rules.self_approval) names.delete(plain(change.proposer));
  const quorum = [...names].filter((name) => !rules.approvers || rules.approvers.includes(name));
  const owned = rules.owners
    .filter(({ target }) => target === change.target)
    .map(({ approvers, required }) => required - approvers.filter((name) => names.has(name)).length);
  return [Math.max(change.required, rules.required) - quorum.length, ...owned].reduce(
    (sum, count) => sum + Math.max(0, count),
    0,
  );
}

function emergencyStands(change: Modelled, { break_glass, self_approval }: Rules): boolean {
  if (!break_glass) return false;
  const names = new Set(change.given.filter(({ emergency }) => emergency).map(({ name }) => plain(name)));
  if (!self_approval) names.delete(plain(change.proposer));
  return break_glass.approvers.filter((name) => names.has(name)).length >= break_glass.required;
}

const mayDecide = (name: string, { target }: Modelled, rules: Rules): boolean =>
  !rules.approvers ||
  rules.approvers.includes(name) ||
  rules.owners.some((owner) => owner.target === target && owner.approvers.includes(name));

/** The code of the refusal, or what the change is then. */
export function answer(
  change: Modelled,
  { what, name: given, emergency = false }: Ask,
  world: World,
): string | Modelled {
  const { rules, now, holds } = world;
  const name = plain(given);
  const isOwn = !rules.self_approval && name === plain(change.proposer);
  const isLive = change.status === "pending_consent" || change.status === "approved";
  const { status } = change;
  const close = (resolution: string): Modelled => ({ ...change, status: "denied", resolution });
  switch (what) {
    case "approve": {
      const lacks = emergency ? !isUrgent(change, rules) : !isComplete(change, rules);
      if (status !== "pending_consent" && !(status === "approved" && lacks)) return "illegal_transition";
      if (emergency && !rules.break_glass?.approvers.includes(name)) return "not_an_approver";
      if (!emergency && !mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn) return "self_approval_forbidden";
      if (change.given.some((one) => plain(one.name) === name && one.emergency === emergency)) return "already_decided";
      const after = { ...change, given: [...change.given, { name: given, emergency }] };
      if (!emergency && lacking(after, rules) === lacking(change, rules)) return "not_an_approver";
      const reached = emergency ? emergencyStands(after, rules) : ordinaryStands(after, rules);
      if (status === "pending_consent" && !reached) return after;
      const review = emergency && reached && change.review !== "due" ? "due" : change.review;
      const sees = !emergency || reached;
      return {
        ...after,
        status: "approved",
        review,
        seen: sees ? holds : change.seen,
        approved: status === "approved" ? change.approved : now,
      };
    }
    case "deny":
      if (status !== "pending_consent") return "illegal_transition";
      return mayDecide(name, change, rules) ? close("denied") : "not_an_approver";
    case "withdraw":
      if (status !== "pending_consent") return "illegal_transition";
      return name === plain(change.proposer) ? close("withdrawn") : "not_the_proposer";
    case "revoke":
      if (!isLive || change.given.length === 0) return "illegal_transition";
      return change.given.some((one) => plain(one.name) === name) ? close("revoked") : "not_an_approver";
    case "apply":
      if (status !== "approved") return "illegal_transition";
      if (rules.forbidden === change.target) return "forbidden_target";
      if (!isComplete(change, rules)) return "consent_incomplete";
      if (rules.on_stale === "block" && change.seen !== holds) return "target_moved";
      if (!isUrgent(change, rules)) {
        if (world.frozen) return "frozen";
        if (rules.denied.some(([from, to]) => from <= now && now < to)) return "outside_window";
      }
      return { ...change, status: "applied" };
    case "rollback":
      return status === "applied" ? { ...change, status: "rolled_back" } : "illegal_transition";
    case "review":
      if (change.review !== "due" || status === "denied") return "illegal_transition";
      if (!mayDecide(name, change, rules)) return "not_an_approver";
      if (isOwn || change.given.some((one) => one.emergency && plain(one.name) === name))
        return "self_approval_forbidden";
      return { ...change, review: "given" };
  }
}

/** What time alone has done to a change. */
export function aged(change: Modelled, { rules, now }: Pick<World, "rules" | "now">): Modelled {
  if (change.status === "pending_consent" && now - change.created > (rules.consent_ttl ?? Infinity))
    return { ...change, status: "denied", resolution: "expired" };
  if (change.status === "approved" && now - change.approved > (rules.approval_ttl ?? Infinity))
    return { ...change, status: "denied", resolution: "lapsed" };
  return change;
}
