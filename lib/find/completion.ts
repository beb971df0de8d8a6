/** Completions for queries: the fields with their values, and recorded names. */
import * as z from "zod";
import type { ChangesDeps } from "../changes/deps.ts";
import { listGovernedEntries } from "../changes/rules/list_entries.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { invalidField } from "../kit/errors.ts";
import { findNearest } from "../kit/nearest.ts";
import { once } from "../kit/once.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { type Rows, SLICE } from "./change_index.ts";
import { DATE_WORDS } from "./dates.ts";
import { DURATIONS, type Field, type FieldName, FIELDS, GROUPS, SORTS } from "./fields.ts";
import type { Query } from "./parse.ts";
import { listApprovers, findDenier } from "./row.ts";
import { listShortNames } from "./value_tests.ts";

/** Maximum number of values of one field. */
const MAX_VALUES = 500;

export const completionSchema = once(() =>
  z
    .array(
      z.object({
        field: z.string().meta({ description: "The word before the colon.", examples: ["risk"] }),
        takes: z.enum(["words", "names", "pattern", "number", "date"]).describe("The kind of value behind it."),
        values: z.array(z.string()).meta({
          description: "Values to choose from: all words, or names on record, at most 500.",
          examples: [["low", "high"]],
        }),
      }),
    )
    .describe("The fields of the query language, with values to complete them with."),
);
export type Completion = z.infer<ReturnType<typeof completionSchema>>;

/** Recorded names, in the spelling that was found first. */
interface Names {
  tenants: ReadonlySet<string>;
  targets: ReadonlySet<string>;
  people: ReadonlySet<string>;
  agents: ReadonlySet<string>;
  kpis: ReadonlySet<string>;
  systems: ReadonlySet<string>;
}

/** Names by list of rows. Lists are immutable, so the names of each are collected once. */
const namesByRows = new WeakMap<Rows, Promise<Names>>();

function findNames(deps: ChangesDeps, all: Rows): Promise<Names> {
  let names = namesByRows.get(all);
  if (!names) namesByRows.set(all, (names = collectNames(deps, all)));
  return names;
}

async function collectNames({ product }: ChangesDeps, { rows }: Rows): Promise<Names> {
  const { intent } = product!;
  const { policy, principals = {} } = intent;
  const [tenants, targets] = [new Set<string>(), new Set<string>()];
  const [people, agents] = [new Map<string, string>(), new Map<string, string>()];
  const kpis = new Set<string>(Object.keys(intent.kpis));
  const systems = new Set<string>(product!.adapter?.systems?.map(({ name }) => name));
  const add = (names: Map<string, string>, name: string | null | undefined): void => {
    if (typeof name !== "string" || name === "") return;
    const key = normalizeName(name);
    if (!names.has(key)) names.set(key, name);
  };
  const configured = [Object.keys(principals), policy.approvers, ...policy.owners.map(({ approvers }) => approvers)];
  for (const name of configured.flatMap((names) => names ?? [])) add(people, name);
  for (const [name, { kind }] of Object.entries(principals)) if (kind === "agent") add(agents, name);
  for (const [index, row] of rows.entries()) {
    if (index % SLICE === SLICE - 1) await yieldToEventLoop();
    const { change } = row;
    for (const entry of listGovernedEntries(change)) {
      tenants.add(entry.tenant_id);
      targets.add(entry.target);
    }
    if (change.kpi !== null) kpis.add(change.kpi);
    for (const { system } of change.places ?? []) systems.add(system);
    for (const name of [change.proposer, change.asked_by, findDenier(row), ...listApprovers(row)]) add(people, name);
    if (change.proposer_kind === "agent") add(agents, change.proposer);
  }
  return { tenants, targets, people: new Set(people.values()), agents: new Set(agents.values()), kpis, systems };
}

const NAME_SOURCES: Partial<Record<FieldName, keyof Names>> = {
  tenant: "tenants",
  target: "targets",
  proposer: "people",
  approver: "people",
  "denied-by": "people",
  agent: "agents",
  kpi: "kpis",
  system: "systems",
};

/**
 * Requires that the names in a query are recorded or in the intent. Errors: 400 `invalid_field` q with the nearest recorded name.
 * The caller's own name is always accepted. Without all changes in memory nothing is checked, since an older change could have the
 * name.
 */
export async function requireKnownNames(
  deps: ChangesDeps,
  all: Rows,
  { terms }: Query,
  caller: string | null,
): Promise<void> {
  if (all.rest !== undefined || terms.every(({ names }) => names === undefined)) return;
  const known = await findNames(deps, all);
  for (const { field, names = [] } of terms) {
    const source = NAME_SOURCES[field];
    if (source === undefined) continue;
    const isPersonOrAgent = source === "people" || source === "agents";
    const candidates = [...known[source], ...(isPersonOrAgent && caller !== null ? [caller] : [])];
    const accepted = new Set(isPersonOrAgent ? candidates.flatMap(listShortNames).map(normalizeName) : candidates);
    const unknown = names.find((name) => !accepted.has(isPersonOrAgent ? normalizeName(name) : name));
    if (unknown === undefined) continue;
    const hint =
      candidates.length === 0 ? "nothing is on record yet" : `did you mean ${findNearest(unknown, candidates)}?`;
    throw invalidField("q", `${field}: nothing on record has ${unknown}: ${hint}`);
  }
}

const VALUE_KINDS: Readonly<Record<Field["type"], Completion[number]["takes"]>> = {
  is: "words",
  words: "words",
  names: "names",
  text: "names",
  pattern: "pattern",
  number: "number",
  date: "date",
};

/** Lists the fields with their values. */
export async function listCompletions(deps: ChangesDeps, all: Rows): Promise<Completion> {
  const names = await findNames(deps, all);
  const listValues = (name: string, field: Field): Iterable<string> => {
    if ("values" in field) return field.values;
    const source = NAME_SOURCES[name as FieldName];
    if (source) return names[source];
    return field.type === "date" ? DATE_WORDS : [];
  };
  const fields = Object.entries(FIELDS as Record<string, Field>).map(([name, field]) => ({
    field: name,
    takes: VALUE_KINDS[field.type],
    values: [...listValues(name, field)].slice(0, MAX_VALUES),
  }));
  const orders = {
    sort: SORTS.flatMap((by) => [by, `${by}-asc`]),
    group: GROUPS,
    time: DURATIONS,
  };
  return [
    ...fields,
    ...Object.entries(orders).map(([field, values]) => ({ field, takes: "words" as const, values: [...values] })),
  ];
}
