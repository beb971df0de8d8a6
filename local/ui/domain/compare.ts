/** The values of two environments, target by target. An environment is a tenant or a target system. */
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import { findWildcard } from "../../../lib/changes/rules/target_pattern.ts";
import type { GovernedValue, Value, ValuePage } from "../../../lib/operations/values.ts";
import type { IntentView } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** Maximum number of pages (of 1,000 values) read for an environment. */
const MAX_PAGES = 5;

/** A value, or the reason why it is withheld; `shared` marks the value of `*`, which tenants without a value of their own have. */
export type EnvironmentValue = Value & { shared?: true };

/** A target with its value in each environment; a promotion from the first sets `destination` in the second. */
export interface ComparedTarget {
  name: string;
  from?: EnvironmentValue;
  to?: EnvironmentValue;
  destination: { tenant_id: string; target: string };
}

type EnvironmentValues = {
  /** By lower-case name; `wildcardPart`: the part of the target that the `*` of a system matches; in a tenant the complete target. */
  found: ReadonlyMap<string, { name: string; wildcardPart: string; value: EnvironmentValue }>;
  /** More values exist. */
  isCut: boolean;
};

type Systems = readonly { name: string; match?: readonly string[] | undefined }[];

/** Lists environments: tenants, and systems whose targets have counterparts in others. */
export const listEnvironments = (tenants: readonly string[], intent: IntentView): string[] => [
  ...tenants.filter((name) => name !== "*").map((name) => `tenant:${name}`),
  ...listSystems(intent)
    .filter(({ match }) => parseTemplate(match) !== undefined)
    .map(({ name }) => `system:${name}`),
];

const listSystems = ({ adapter }: IntentView): Systems => adapter?.systems ?? [];

/** Splits the first pattern with exactly one `*` at that `*`; undefined if there is none, or if it has no other text. */
function parseTemplate(match: readonly string[] = []): [begin: string, end: string] | undefined {
  const parts = match.map((pattern) => pattern.split("*")).find(({ length }) => length === 2);
  return parts && parts.join("") !== "" ? [parts[0]!, parts[1]!] : undefined;
}

/** Compares the values of two environments, by name: a row for each target that has a value in one of them. */
export async function compare(from: string, to: string, intent: IntentView, signal: AbortSignal) {
  const [first, second] = await Promise.all([from, to].map((name) => readEnvironment(name, intent, signal)));
  const toSystem = listSystems(intent).find(({ name }) => `system:${name}` === to);
  const [begin = "", end = ""] = parseTemplate(toSystem?.match) ?? [];
  const rows = [...new Set([...first!.found.keys(), ...second!.found.keys()])].map((key): ComparedTarget => {
    const [left, right] = [first!.found.get(key), second!.found.get(key)];
    const { name, wildcardPart, value } = (left ?? right)!;
    const destination = to.startsWith("tenant:")
      ? { tenant_id: parseName(to), target: wildcardPart }
      : { tenant_id: value.tenant_id, target: begin + wildcardPart + end };
    return { name, destination, ...(left && { from: left.value }), ...(right && { to: right.value }) };
  });
  return { rows: rows.sort((x, y) => (x.name < y.name ? -1 : 1)), isCut: first!.isCut || second!.isCut };
}

/** Returns the name in `tenant:<name>` or `system:<name>`. */
export const parseName = (environment: string): string => environment.slice(environment.indexOf(":") + 1);

async function readEnvironment(
  environment: string,
  intent: IntentView,
  signal: AbortSignal,
): Promise<EnvironmentValues> {
  if (environment.startsWith("tenant:")) {
    const [shared, own] = await Promise.all(
      ["*", parseName(environment)].map((tenant_id) => readValues({ tenant_id }, signal)),
    );
    const toEntry = (value: EnvironmentValue) =>
      [value.target.toLowerCase(), { name: value.target, wildcardPart: value.target, value }] as const;
    const all = shared!.values.map((value): EnvironmentValue => ({ ...value, shared: true }));
    return { found: new Map([...all, ...own!.values].map(toEntry)), isCut: shared!.isCut || own!.isCut };
  }
  const systems = listSystems(intent);
  const { values, isCut } = await readValues({}, signal);
  const found = values.flatMap((value) => {
    const covers = ({ match }: Systems[number]) => findWildcard(value.target, match ?? []) !== undefined;
    // A target belongs to the first system that covers it.
    const system = systems.find(covers);
    if (system?.name !== parseName(environment)) return [];
    const wildcardPart = findWildcard(value.target, system.match ?? [])!;
    const name = `${value.tenant_id}: ${wildcardPart}`;
    return [[name.toLowerCase(), { name, wildcardPart, value }] as const];
  });
  return { found: new Map(found), isCut };
}

async function readValues(query: { tenant_id?: string }, signal: AbortSignal) {
  const values: Value[] = [];
  let after: string | null = "";
  for (let page = 0; page < MAX_PAGES && after !== null; page++) {
    const read: ValuePage = await get<ValuePage>("api/product/values", { ...query, after }, signal);
    values.push(...read.values);
    after = read.next;
  }
  return { values, isCut: after !== null };
}

/** Returns true where both environments have the same value for the same share of the users. */
export function hasSameValue({ from, to }: ComparedTarget): boolean {
  if (from?.state !== "governed" || to?.state !== "governed") return false;
  return comparedFacts(from) === comparedFacts(to);
}

const comparedFacts = ({ value, exposure }: GovernedValue): string =>
  canonicalJson([value ?? null, (exposure as { share?: number } | undefined)?.share ?? null]);
