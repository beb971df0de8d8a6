/** What a text claims of the month's changes that the ledger contradicts, as far as that can be told line by line. */
import { type Act, actsOn, type Did, type Ledger, type LedgerChange } from "./ledger.ts";
import { ANA, BO, CHEN, ERIN } from "./who_and_what.ts";

const HOUR_MS = 3_600_000;
/** Times that follow from an act: expiry, lapse, an emergency's review, an outcome's horizon and end; in hours. */
const AFTER: Partial<Record<Did, readonly number[]>> = {
  proposed: [120],
  approved: [72, 240],
  applied: [7 * 24, 30 * 24],
};
/** Words that claim that something was done to a change, in English and Chinese. */
const CLAIMS: readonly [RegExp, readonly Did[]][] = [
  [/(?<!not |never |cannot be |can be |to be |un|be )\brolled back\b|已回滚/i, ["rolled_back"]],
  [/(?<!not |never |cannot be |can be |to be |be )\bapplied\b(?! it)|已应用/i, ["applied"]],
  [/(?<!not |never |be )\bdenied\b|已拒绝/i, ["denied", "expired", "withdrawn", "revoked", "lapsed"]],
  [/(?<!not |never )\bexpired\b|已过期/i, ["expired"]],
  [/(?<!not |never )\bwithdrawn\b|已撤回/i, ["withdrawn"]],
  [/(?<!not |never )\brevoked\b|已撤销/i, ["revoked"]],
  [/(?<!not |never )\blapsed\b|已失效/i, ["lapsed"]],
  [/(?<!not |never |no )\bdrift(ed|s|ing)\b|漂移/i, ["drifted"]],
];
const PERSON = /[a-z]+@acme\.example/gi;
const MOMENT = /\b2026-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{3})?)?Z?)?/g;
const TENANTS = ["northwind", "globex", "initech"];

/** Each claim that is not so, with its line. */
export function contradictionsIn(ledger: Ledger, text: string): string[] {
  return text.split("\n").flatMap((line) => {
    // What somebody is quoted with is their word, and no claim.
    const claimed = line.replace(/“[^”]*”/g, "“”");
    const unknown = (line.match(/chg_[\w-]+/g) ?? []).filter(
      (id) => ![...ledger.changes.values()].some((one) => one.id === id),
    );
    const named = [...ledger.changes.values()].filter((change) => isNamed(change, claimed));
    const [change] = named;
    const wrong = change && named.length === 1 ? wrongOf(ledger, change, claimed) : [];
    return [...unknown.map((id) => `no change is ${id}`), ...wrong].map((claim) => `${claim}: ${line}`);
  });
}

/** Whether a text names a change: by its id, or by its target or summary. */
export function isNamed({ id, target, summary }: LedgerChange, text: string): boolean {
  if (text.includes(id)) return true;
  const lower = text.toLowerCase();
  if (lower.includes(summary.toLowerCase())) return true;
  const word = target.replace(/[.]/g, "\\.");
  return new RegExp(`(?<![\\w.])${word}(?![\\w]|\\.\\w)`, "i").test(lower);
}

function wrongOf(ledger: Ledger, change: LedgerChange, line: string): string[] {
  const acts = actsOn(ledger, change.name);
  const people = new Set(peopleOf(change, acts));
  const done = new Set<Did>(acts.map(({ did }) => did));
  const moments = momentsOf(ledger, acts);
  return [
    ...(line.match(PERSON) ?? [])
      .filter((person) => !people.has(person.toLowerCase()))
      .map((person) => `${person} had no part in ${change.name}`),
    ...TENANTS.filter((tenant) => tenant !== change.tenant && new RegExp(`\\b${tenant}\\b`, "i").test(line)).map(
      (tenant) => `${change.name} is not of ${tenant}`,
    ),
    ...CLAIMS.filter(([claim, acceptable]) => claim.test(line) && !acceptable.some((did) => done.has(did))).map(
      ([claim]) => `${change.name} was never ${claim.exec(line)![0]}`,
    ),
    ...(line.match(MOMENT) ?? [])
      .filter((moment) => !moments.some((known) => known.startsWith(moment.replace(/Z$/, ""))))
      .map((moment) => `nothing was at ${moment} with ${change.name}`),
  ];
}

/** Everybody who acted on a change or may still have to. */
const peopleOf = (change: LedgerChange, acts: readonly Act[]): string[] => [
  ...acts.flatMap(({ by }) => by ?? []),
  change.proposer,
  ...(change.asked_by === null ? [] : [change.asked_by]),
  ...(change.status === "pending_consent" || change.status === "approved" ? [ANA, BO, CHEN, ERIN] : []),
  // Who may review an emergency had no part in it.
  ...(acts.some(({ emergency }) => emergency) ? [BO] : []),
];

/** The times that may stand beside a change: of its acts, of what follows from them, and of the feeds it is judged by. */
const momentsOf = ({ acts: all }: Ledger, acts: readonly Act[]): string[] => [
  ...all.filter(({ did }) => did === "fed").map(({ at }) => at),
  ...acts.flatMap(({ at, did }) => [
    at,
    ...(AFTER[did] ?? []).map((hours) => new Date(Date.parse(at) + hours * HOUR_MS).toISOString()),
  ]),
];
