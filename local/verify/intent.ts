/** The rules of an intent that a certificate can be verified against. */
import { type Detail, isObject, isWhole } from "./json.ts";
import { isCount } from "./plan.ts";
import { parseKeys, type Policy, sameName } from "./policy.ts";

/** An intent, of its type throughout; what it leaves out has the service's default. */
export interface Intent {
  keys: Policy;
  agents: ReadonlySet<string>;
  /** By name, the groups of the identity provider without which a consent does not count. */
  idp: ReadonlyMap<string, readonly string[]>;
  /** Only signatures count. */
  signedOnly: boolean;
  selfApproval: boolean;
  /** Undefined: anybody may approve. */
  approvers: readonly string[] | undefined;
  required: Readonly<Record<"standard" | "major", number>>;
  emergency: { approvers: readonly string[]; required: number } | undefined;
  minor: Minor | undefined;
  mandates: Mandates | undefined;
  /** By KPI, +1 where up is good and -1 where down is. */
  directions: ReadonlyMap<string, number>;
  /** Each rollout is watched and fed within bounds. */
  boundsRollouts: boolean;
  /** The targets that have owners. */
  owned: readonly OwnerRule[];
}

/** Patterns of targets, for some tenants; undefined: for all. */
interface Scope {
  targets: readonly string[];
  tenants: readonly string[] | undefined;
}

/** Targets with owners, and how many of these must consent. */
export interface OwnerRule extends Scope {
  approvers: readonly string[];
  required: number;
}

/** Mandates that people may sign. */
interface Mandates {
  targets: readonly string[];
  maxDays: number;
  maxPerDay: number;
  maxOpen: number;
  /** They approve changes that apply by themselves. */
  automatic: boolean;
}

/** Changes that need no consent. */
interface Minor extends Scope {
  kinds: readonly string[];
  maxUsers: number;
  maxRisk: number;
  agents: boolean;
  automatic: boolean;
}

const RISKS: readonly unknown[] = ["low", "medium", "high"];

/** Reads an intent. Errors: `TypeError` with the name of the first member that no service would load. */
export function parseIntent(manifest: Detail): Intent {
  const policy = section(manifest, "policy") ?? {};
  const groups = groupsIn(policy);
  const approvers = namesIn(policy, "approvers", groups);
  const { standard, major } = requiredIn(section(policy, "required_approvers") ?? {});
  const signedOnly = flag(policy, "signed_only");
  const selfApproval = flag(policy, "self_approval") ?? true;
  const emergency = section(policy, "break_glass");
  const minor = section(policy, "minor");
  const [mandates, stages] = [section(policy, "mandates"), section(policy, "stages")];
  const owners = policy["owners"] ?? [];
  if (!Array.isArray(owners) || !owners.every(isObject)) throw new TypeError("owners");
  const principals = manifest["principals"] ?? {};
  const keys = parseKeys(principals);
  const idp = new Map(
    Object.entries(principals).map(([name, one]) => [sameName(name), texts(one as Detail, "idp") ?? []]),
  );
  return {
    keys,
    idp,
    agents: new Set(
      Object.entries(principals).flatMap(([name, one]) =>
        (one as Detail)["kind"] === "agent" ? [sameName(name)] : [],
      ),
    ),
    signedOnly: signedOnly ?? [...keys.values()].some(({ length }) => length > 0),
    selfApproval,
    mandates: mandates && mandatesIn(mandates),
    directions: directionsIn(section(manifest, "kpis") ?? {}),
    boundsRollouts: stages !== undefined && boundsRollouts(stages),
    approvers,
    required: { standard, major },
    emergency: emergency && {
      approvers: namesIn(emergency, "approvers", groups) ?? [],
      required: count(emergency, "required", 1) ?? 1,
    },
    minor: minor && minorIn(minor),
    owned: owners.map((one: Detail) => ({
      targets: texts(one, "targets") ?? [],
      tenants: tenantsIn(one),
      approvers: namesIn(one, "approvers", groups) ?? [],
      required: count(one, "required", 1) ?? 1,
    })),
  };
}

/** A major change never needs fewer consents than a standard one. */
function requiredIn(required: Detail): Intent["required"] {
  const standard = count(required, "standard", 1) ?? 1;
  const major = count(required, "major", 1) ?? standard;
  if (major < standard) throw new TypeError("major");
  return { standard, major };
}

function mandatesIn(rule: Detail): Mandates {
  const maxDays = rule["max_days"] ?? 30;
  if (!isCount(maxDays)) throw new TypeError("max_days");
  const [maxPerDay, maxOpen] = [count(rule, "max_per_day", 1) ?? 50, count(rule, "max_open", 1) ?? 20];
  return {
    targets: texts(rule, "targets") ?? [],
    maxDays,
    maxPerDay,
    maxOpen,
    automatic: flag(rule, "apply_when") ?? false,
  };
}

function directionsIn(kpis: Detail): Map<string, number> {
  const goals = Object.entries(kpis).map(([kpi, goal]) => {
    const { baseline, target } = isObject(goal) ? goal : {};
    if (!isCount(baseline) || !isCount(target)) throw new TypeError("kpis");
    return [kpi, target >= baseline ? 1 : -1] as const;
  });
  return new Map(goals);
}

function boundsRollouts(stages: Detail): boolean {
  const [watch, fedBy] = [texts(stages, "watch") ?? [], texts(stages, "fed_by")];
  const most = section(stages, "max_allowed") ?? {};
  return fedBy !== undefined && watch.length > 0 && watch.every((kpi) => Object.hasOwn(most, kpi));
}

function minorIn(minor: Detail): Minor {
  const kinds = texts(minor, "kinds") ?? [];
  const targets = texts(minor, "targets") ?? [];
  const maxUsers = count(minor, "max_affected_users", 0) ?? Infinity;
  const maxRisk = RISKS.indexOf(minor["max_risk"] ?? "low");
  if (maxRisk === -1) throw new TypeError("max_risk");
  const [agents, automatic] = [flag(minor, "agents") ?? false, flag(minor, "apply_when") ?? false];
  return { kinds, targets, tenants: tenantsIn(minor), maxUsers, maxRisk, agents, automatic };
}

function section(of: Detail, name: string): Detail | undefined {
  const value = of[name] ?? undefined;
  if (value !== undefined && !isObject(value)) throw new TypeError(name);
  return value;
}

function texts(of: Detail, name: string): string[] | undefined {
  const value: unknown = of[name] ?? undefined;
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) throw new TypeError(name);
  return value as string[];
}

/** The people of a list of names, those of its groups included. */
const namesIn = (of: Detail, name: string, groups: ReadonlyMap<string, string[]>): string[] | undefined =>
  texts(of, name)
    ?.map(sameName)
    .flatMap((one) => {
      if (!one.startsWith("group:")) return [one];
      const people = groups.get(one.slice("group:".length));
      if (!people) throw new TypeError(name);
      return people;
    });

function groupsIn(policy: Detail): Map<string, string[]> {
  const groups = section(policy, "groups") ?? {};
  return new Map(Object.keys(groups).map((name) => [name, (texts(groups, name) ?? []).map(sameName)]));
}

/** Tenants are compared as they are recorded. */
const tenantsIn = (of: Detail): string[] | undefined =>
  texts(of, "tenants")?.map((tenant) => tenant.normalize("NFC").trim());

function flag(of: Detail, name: string): boolean | undefined {
  const value = of[name] ?? undefined;
  if (value !== undefined && typeof value !== "boolean") throw new TypeError(name);
  return value;
}

function count(of: Detail, name: string, least: number): number | undefined {
  const value = of[name] ?? undefined;
  if (value !== undefined && !isWhole(value, least)) throw new TypeError(name);
  return value;
}

/** Checks that a name is an agent's: of the intent, or with the prefix that only agents may have. */
const isAgent = (name: string, { agents }: Intent): boolean => name.startsWith("agent:") || agents.has(name);

/** Checks that a name may decide on any change. */
export const mayDecide = (name: string, intent: Intent): boolean =>
  !isAgent(name, intent) && (!intent.approvers || intent.approvers.includes(name));

/** Checks that a change that a name proposes may be minor: never a model's, an agent's where the intent allows it. */
export const mayProposeMinor = (name: string, intent: Intent): boolean =>
  !name.startsWith("llm:") && (!isAgent(name, intent) || intent.minor?.agents === true);

/** Checks that the intent allows a content without consent, as far as the content has the necessary fields. */
export function isMinor(content: Detail, isErased: boolean, { minor, owned }: Intent): boolean {
  const { kind, affected_users: users, risk, reversible } = content;
  const places = listPlaces(content);
  if (!minor || typeof kind !== "string" || !places) return false;
  const isIn = ({ targets, tenants }: Scope, { tenant, target }: Place): boolean =>
    matchesAny(target, targets) && (!tenants || tenants.includes(tenant));
  const isOwned = owned.some((scope) => places.some((place) => isIn(scope, place)));
  if (isOwned || (content["apply_when"] !== undefined && !minor.automatic)) return false;
  const isOfFew = isErased ? users === null : isWhole(users, 0) && users <= minor.maxUsers;
  const level = RISKS.indexOf(risk);
  return (
    minor.kinds.includes(kind) &&
    places.every((place) => isIn(minor, place)) &&
    isOfFew &&
    level !== -1 &&
    level <= minor.maxRisk &&
    reversible === true
  );
}

/** A target of a tenant. */
interface Place {
  tenant: string;
  target: string;
}

/** Lists the target of a content and those that a plan sets; undefined where one is none. */
export function listPlaces(content: Detail): Place[] | undefined {
  const { sets = [] } = content;
  if (!Array.isArray(sets)) return undefined;
  const places = [content, ...sets].map((one) => (isObject(one) ? [one["tenant_id"], one["target"]] : []));
  const isText = (name: unknown): boolean => typeof name === "string";
  if (!places.every(([tenant, target]) => isText(tenant) && isText(target))) return undefined;
  return places.map(([tenant, target]) => ({ tenant, target }) as Place);
}

export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matches(lower(target), lower(pattern).split("*")));

/** Checks that a target consists of these parts, with anything between them. */
function matches(target: string, [begin = "", ...parts]: string[]): boolean {
  const end = parts.pop();
  if (end === undefined) return target === begin;
  if (!target.startsWith(begin)) return false;
  let from = begin.length;
  for (const part of parts) {
    const at = target.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return target.length >= from + end.length && target.endsWith(end);
}

/** Targets are ASCII. */
export const lower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
