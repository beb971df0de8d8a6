/** The names on record, by what a question may call them: whole, or in short where that is plain. */
import type { Intent } from "../../governance/rules/intent.ts";
import { kpiNames } from "../../governance/rules/intent.ts";
import { sameName } from "../../governance/rules/names.ts";
import { peopleOf, type Row } from "../../pulse/query/row.ts";

/** What a name is the name of. */
export type NameKind = "change" | "person" | "tenant" | "target" | "kpi";

/** What a word of a question names; several where it is short for all of them. */
export interface Named {
  kind: NameKind;
  values: readonly string[];
}

/** The names on record, by each way to say them, in lower case. */
export class Names {
  readonly #known = new Map<string, Named>();
  readonly #lengths = new Set<number>();

  /** The longest name that begins at a place of a text in lower case. */
  at(text: string, place: number): { length: number; named: Named } | undefined {
    for (const length of this.#descending()) {
      const words = text.slice(place, place + length);
      const named = words.length === length ? this.#known.get(words) : undefined;
      if (named && isWhole(text, place, length)) return { length, named };
    }
    return undefined;
  }

  /** The one name of a kind that is meant by these words. */
  only(kind: NameKind, words: string): string | undefined {
    const named = this.#known.get(words.toLowerCase());
    return named?.kind === kind && named.values.length === 1 ? named.values[0] : undefined;
  }

  /** Says what words name, unless they name something already. */
  add(words: string, named: Named): void {
    if (words.length < 2 || this.#known.has(words)) return;
    this.#known.set(words, named);
    this.#lengths.add(words.length);
    this.#order = undefined;
  }

  #order: number[] | undefined;
  #descending(): readonly number[] {
    return (this.#order ??= [...this.#lengths].sort((a, b) => b - a));
  }
}

/** `ui` is not named in "build it", nor in `ui.theme`. */
const isWhole = (text: string, at: number, length: number): boolean =>
  !/[a-z0-9_]$/.test(text.slice(0, at)) && !/^[a-z0-9_]|^[.:/@-][a-z0-9]/.test(text.slice(at + length));

/** The names of a look at the changes under an intent: they hold for as long as the look does. */
const gathered = new WeakMap<readonly Row[], { intent: Intent; names: Names }>();

/** The names of what was looked at, and of those whom the intent names. */
export function namesOn(rows: readonly Row[], intent: Intent, isWord: (words: string) => boolean): Names {
  const known = gathered.get(rows);
  if (known?.intent === intent) return known.names;
  const names = gather(rows, intent, isWord);
  gathered.set(rows, { intent, names });
  return names;
}

function gather(rows: readonly Row[], intent: Intent, isWord: (words: string) => boolean): Names {
  const names = new Names();
  const tenants = new Set(rows.map(({ tenant_id }) => tenant_id));
  const targets = new Map(rows.map(({ target }) => [target.toLowerCase(), target]));
  const people = new Map(
    [...rows.flatMap((row) => peopleOf(row, "either")), ...peopleIn(intent)].map((name) => [sameName(name), name]),
  );
  for (const [lower, target] of targets) names.add(lower, { kind: "target", values: [target] });
  for (const tenant of tenants) names.add(tenant.toLowerCase(), { kind: "tenant", values: [tenant] });
  for (const [same, person] of people) names.add(same, { kind: "person", values: [person] });
  for (const kpi of kpiNames(intent)) names.add(kpi, { kind: "kpi", values: [kpi] });
  const short = (kind: NameKind, of: Iterable<string>, shortened: (name: string) => string[]): void => {
    for (const [words, values] of inShort(of, shortened))
      if (words.length > 2 - Number(kind === "person") && !isWord(words)) names.add(words, { kind, values });
  };
  short("person", people.values(), shortPeople);
  short("kpi", kpiNames(intent), shortKpis);
  short("target", targets.values(), shortTargets);
  return names;
}

/** What stands for which names; a person is meant by what is short for no other person. */
function inShort(names: Iterable<string>, shortened: (name: string) => string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of names)
    for (const words of new Set(shortened(name.toLowerCase()))) {
      const same = found.get(words);
      if (same) same.push(name);
      else found.set(words, [name]);
    }
  return found;
}

/** `ana` is short for `ana@acme.example`, `pricing agent` for `agent:pricing`. */
function shortPeople(name: string): string[] {
  const local = name.split("@")[0]!;
  const [, kind, own] = /^(agent|llm|peer):(.+)$/.exec(name) ?? [];
  return own === undefined ? [local, local.split(/[._+-]/)[0]!] : [`${own} ${kind}`, `${kind} ${own}`];
}

/** `short form` is short for `signup.short_form`. */
function shortTargets(name: string): string[] {
  const last = name.split(/[.:/]/).at(-1)!;
  return [spaced(last), spaced(name), last, spaced(last).replaceAll(" ", "-")];
}

/** `nrr`, `win rate` and `deal win rate` are short for KPIs. */
function shortKpis(name: string): string[] {
  const words = name.split("_");
  const ends = words.slice(1).map((_, index) => words.slice(index).join(" "));
  return [
    ...ends,
    ...words.slice(1).map((_, index) => words.slice(0, index + 2).join(" ")),
    ...words.filter((word) => word.length > 2 && !/[aeiou]/.test(word)),
  ];
}

const spaced = (name: string): string => name.replace(/[._:/-]+/g, " ").trim();

/** Everybody whom an intent names. */
export function peopleIn({ principals, policy }: Intent): string[] {
  const { approvers = [], owners, break_glass } = policy;
  const owning = owners.flatMap(({ approvers: of }) => of);
  return [...new Set([...Object.keys(principals), ...approvers, ...owning, ...(break_glass?.approvers ?? [])])];
}
