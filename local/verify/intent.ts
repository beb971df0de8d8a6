/** Parses the rules of an intent that a certificate is verified against. */
import { type JsonObject, isObject, isIntegerAtLeast } from "./json.ts";
import { isFiniteNumber } from "./rollout_plan.ts";
import { parseKeys, type KeysByName, normalizeName } from "./policy.ts";

/** A valid intent; omitted members have the service's defaults. */
export interface Intent {
  keys: KeysByName;
  agents: ReadonlySet<string>;
  /** By name, the groups of the identity provider that a consent needs to count. */
  idpGroups: ReadonlyMap<string, readonly string[]>;
  /** True where only signed consents count. */
  signedOnly: boolean;
  selfApproval: boolean;
  /** Undefined: anybody may approve. */
  approvers: readonly string[] | undefined;
  required: Readonly<Record<"standard" | "major", number>>;
  emergency: { approvers: readonly string[]; required: number } | undefined;
  minor: MinorPolicy | undefined;
  mandates: MandatePolicy | undefined;
  /** By KPI: 1 where higher is better, -1 where lower is. */
  directions: ReadonlyMap<string, number>;
  /** True where every rollout must be watched and fed, within maximum losses. */
  boundsRollouts: boolean;
  /** Checked for minor changes and mandates only. */
  ownerRules: readonly OwnerRule[];
}

/** Patterns of targets, and the tenants they are for; undefined: all tenants. */
interface Scope {
  targets: readonly string[];
  tenants: readonly string[] | undefined;
}

/** Targets with owners, and how many of the owners must consent. */
export interface OwnerRule extends Scope {
  approvers: readonly string[];
  required: number;
}

/** Bounds on the mandates that people may sign. */
interface MandatePolicy {
  targets: readonly string[];
  maxDays: number;
  maxPerDay: number;
  maxOpen: number;
  /** True where they may approve changes that apply by themselves. */
  automatic: boolean;
}

/** Changes that need no consent. */
interface MinorPolicy extends Scope {
  kinds: readonly string[];
  maxUsers: number;
  maxRisk: number;
  agents: boolean;
  automatic: boolean;
}

const RISKS: readonly unknown[] = ["low", "medium", "high"];

/** Reads an intent. Errors: `TypeError` with the name of the first member that no service would load. */
export function parseIntent(manifest: JsonObject): Intent {
  const policy = readSection(manifest, "policy") ?? {};
  const groups = parseGroups(policy);
  const approvers = readNames(policy, "approvers", groups);
  const { standard, major } = parseRequired(readSection(policy, "required_approvers") ?? {});
  const signedOnly = readFlag(policy, "signed_only");
  const selfApproval = readFlag(policy, "self_approval") ?? true;
  const emergency = readSection(policy, "break_glass");
  const minor = readSection(policy, "minor");
  const [mandates, stages] = [readSection(policy, "mandates"), readSection(policy, "stages")];
  const owners = policy["owners"] ?? [];
  if (!Array.isArray(owners) || !owners.every(isObject)) throw new TypeError("owners");
  const principals = manifest["principals"] ?? {};
  const keys = parseKeys(principals);
  const idpGroups = new Map(
    Object.entries(principals).map(([name, one]) => [normalizeName(name), readTexts(one as JsonObject, "idp") ?? []]),
  );
  return {
    keys,
    idpGroups,
    agents: new Set(
      Object.entries(principals).flatMap(([name, one]) =>
        (one as JsonObject)["kind"] === "agent" ? [normalizeName(name)] : [],
      ),
    ),
    signedOnly: signedOnly ?? [...keys.values()].some(({ length }) => length > 0),
    selfApproval,
    mandates: mandates && parseMandates(mandates),
    directions: parseDirections(readSection(manifest, "kpis") ?? {}),
    boundsRollouts: stages !== undefined && hasRolloutBounds(stages),
    approvers,
    required: { standard, major },
    emergency: emergency && {
      approvers: readNames(emergency, "approvers", groups) ?? [],
      required: readCount(emergency, "required", 1) ?? 1,
    },
    minor: minor && parseMinor(minor),
    ownerRules: owners.map((one: JsonObject) => ({
      targets: readTexts(one, "targets") ?? [],
      tenants: readTenants(one),
      approvers: readNames(one, "approvers", groups) ?? [],
      required: readCount(one, "required", 1) ?? 1,
    })),
  };
}

/** Reads the quorums. Errors: `TypeError` where a major change needs fewer consents than a standard one. */
function parseRequired(required: JsonObject): Intent["required"] {
  const standard = readCount(required, "standard", 1) ?? 1;
  const major = readCount(required, "major", 1) ?? standard;
  if (major < standard) throw new TypeError("major");
  return { standard, major };
}

function parseMandates(rule: JsonObject): MandatePolicy {
  const maxDays = rule["max_days"] ?? 30;
  if (!isFiniteNumber(maxDays)) throw new TypeError("max_days");
  const [maxPerDay, maxOpen] = [readCount(rule, "max_per_day", 1) ?? 50, readCount(rule, "max_open", 1) ?? 20];
  return {
    targets: readTexts(rule, "targets") ?? [],
    maxDays,
    maxPerDay,
    maxOpen,
    automatic: readFlag(rule, "apply_when") ?? false,
  };
}

function parseDirections(kpis: JsonObject): Map<string, number> {
  const goals = Object.entries(kpis).map(([kpi, goal]) => {
    const { baseline, target } = isObject(goal) ? goal : {};
    if (!isFiniteNumber(baseline) || !isFiniteNumber(target)) throw new TypeError("kpis");
    return [kpi, target >= baseline ? 1 : -1] as const;
  });
  return new Map(goals);
}

function hasRolloutBounds(stages: JsonObject): boolean {
  const [watch, fedBy] = [readTexts(stages, "watch") ?? [], readTexts(stages, "fed_by")];
  const maxAllowed = readSection(stages, "max_allowed") ?? {};
  return fedBy !== undefined && watch.length > 0 && watch.every((kpi) => Object.hasOwn(maxAllowed, kpi));
}

function parseMinor(minor: JsonObject): MinorPolicy {
  const kinds = readTexts(minor, "kinds") ?? [];
  const targets = readTexts(minor, "targets") ?? [];
  const maxUsers = readCount(minor, "max_affected_users", 0) ?? Infinity;
  const maxRisk = RISKS.indexOf(minor["max_risk"] ?? "low");
  if (maxRisk === -1) throw new TypeError("max_risk");
  const [agents, automatic] = [readFlag(minor, "agents") ?? false, readFlag(minor, "apply_when") ?? false];
  return { kinds, targets, tenants: readTenants(minor), maxUsers, maxRisk, agents, automatic };
}

function readSection(object: JsonObject, name: string): JsonObject | undefined {
  const value = object[name] ?? undefined;
  if (value !== undefined && !isObject(value)) throw new TypeError(name);
  return value;
}

function readTexts(object: JsonObject, name: string): string[] | undefined {
  const value: unknown = object[name] ?? undefined;
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) throw new TypeError(name);
  return value as string[];
}

/** Reads a list of names, with the members of each `group:` in it. */
const readNames = (object: JsonObject, name: string, groups: ReadonlyMap<string, string[]>): string[] | undefined =>
  readTexts(object, name)
    ?.map(normalizeName)
    .flatMap((one) => {
      if (!one.startsWith("group:")) return [one];
      const people = groups.get(one.slice("group:".length));
      if (!people) throw new TypeError(name);
      return people;
    });

function parseGroups(policy: JsonObject): Map<string, string[]> {
  const groups = readSection(policy, "groups") ?? {};
  return new Map(Object.keys(groups).map((name) => [name, (readTexts(groups, name) ?? []).map(normalizeName)]));
}

/** Reads tenants in the form in which entries record them. */
const readTenants = (object: JsonObject): string[] | undefined =>
  readTexts(object, "tenants")?.map((tenant) => tenant.normalize("NFC").trim());

function readFlag(object: JsonObject, name: string): boolean | undefined {
  const value = object[name] ?? undefined;
  if (value !== undefined && typeof value !== "boolean") throw new TypeError(name);
  return value;
}

function readCount(object: JsonObject, name: string, min: number): number | undefined {
  const value = object[name] ?? undefined;
  if (value !== undefined && !isIntegerAtLeast(value, min)) throw new TypeError(name);
  return value;
}

/** Checks that a name is an agent's: the intent lists it as one, or it has the prefix that only agents may have. */
const isAgent = (name: string, { agents }: Intent): boolean => name.startsWith("agent:") || agents.has(name);

/** Checks that a name may consent to any change. */
export const canDecide = (name: string, intent: Intent): boolean =>
  !isAgent(name, intent) && (!intent.approvers || intent.approvers.includes(name));

/** Checks that a proposer may propose minor changes: a model never, an agent only if the intent allows it. */
export const canProposeMinor = (name: string, intent: Intent): boolean =>
  !name.startsWith("llm:") && (!isAgent(name, intent) || intent.minor?.agents === true);

/** Checks that the intent lets a change with this content pass without consent; after an erasure, by the remaining fields. */
export function isMinor(content: JsonObject, isErased: boolean, { minor, ownerRules }: Intent): boolean {
  const { kind, affected_users: users, risk, reversible } = content;
  const tenantTargets = listTenantTargets(content);
  if (!minor || typeof kind !== "string" || !tenantTargets) return false;
  const isInScope = ({ targets, tenants }: Scope, { tenant, target }: TenantTarget): boolean =>
    matchesAny(target, targets) && (!tenants || tenants.includes(tenant));
  // Targets with owners always need a consent.
  const isOwned = ownerRules.some((scope) => tenantTargets.some((tenantTarget) => isInScope(scope, tenantTarget)));
  if (isOwned || (content["apply_when"] !== undefined && !minor.automatic)) return false;
  // An erasure replaces the number of users by null.
  const areUsersAllowed = isErased ? users === null : isIntegerAtLeast(users, 0) && users <= minor.maxUsers;
  const riskLevel = RISKS.indexOf(risk);
  return (
    minor.kinds.includes(kind) &&
    tenantTargets.every((tenantTarget) => isInScope(minor, tenantTarget)) &&
    areUsersAllowed &&
    riskLevel !== -1 &&
    riskLevel <= minor.maxRisk &&
    reversible === true
  );
}

/** A target of a tenant. */
interface TenantTarget {
  tenant: string;
  target: string;
}

/** Lists the target of a content and those that its plan sets; undefined where a tenant or target is not text. */
export function listTenantTargets(content: JsonObject): TenantTarget[] | undefined {
  const { sets = [] } = content;
  if (!Array.isArray(sets)) return undefined;
  const tenantTargets = [content, ...sets].map((one) => (isObject(one) ? [one["tenant_id"], one["target"]] : []));
  const isText = (name: unknown): boolean => typeof name === "string";
  if (!tenantTargets.every(([tenant, target]) => isText(tenant) && isText(target))) return undefined;
  return tenantTargets.map(([tenant, target]) => ({ tenant, target }) as TenantTarget);
}

/** Checks that a target matches a pattern, without case; `*` stands for any text. */
export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesParts(toLowerAscii(target), toLowerAscii(pattern).split("*")));

/** Checks that a text begins and ends with the first and last part, with the others between them in order. */
function matchesParts(target: string, [begin = "", ...parts]: string[]): boolean {
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

/** Converts a target, which is ASCII, to lower case, since targets are compared without case. */
export const toLowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
