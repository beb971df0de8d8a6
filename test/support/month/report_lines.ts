/** Checks a week's report line by line against the ledger: what it says must be so, and all of it must be known here. */
import { expect } from "vitest";
import { type Act, changeNamed, type Did, type Ledger, type LedgerChange } from "./ledger.ts";
import { hoursAfter, isWithin, type Reckoning, reckonAt } from "./reckoning.ts";

/** A report in parts: the lines under each heading, blank ones left out. */
export function sectionsOf(report: string): Map<string, string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of report.split("\n")) {
    if (line.startsWith("## ") || line.startsWith("# ")) sections.set(line.replace(/^#+ /, ""), (lines = []));
    else if (line !== "") lines.push(line);
  }
  return sections;
}

const NAMED = /^`(?<target>[^`]+)` of (?<tenant>\w+)(?:, “(?<summary>[^”]*)”)? \(`(?<id>chg_[\w-]+)`\)(?<rest>.*)$/;
/** How a step is worded, as an act. */
const STEPS: readonly [RegExp, Did][] = [
  [/^proposed(, and approved by the intent's rule for minor changes,)?$/, "proposed"],
  [
    /^approved( in an emergency)?( \(\d of \d, (more are required|a consent that another rule requires is missing)\))?$/,
    "approved",
  ],
  [/^(denied|withdrawn|revoked|expired|lapsed|applied)$/, "applied"],
  [/^apply failed$/, "apply_failed"],
  [/^rolled back$/, "rolled_back"],
  [/^rollback failed$/, "rollback_failed"],
  [/^emergency reviewed, accepted,$/, "reviewed"],
  [/^drifted \(missing on the host\)$/, "drifted"],
];
const minute = (at: string): string => at.slice(0, 16).replace("T", " ");
const fixed = (value: number | null): string => (value === null ? "no data" : value.toFixed(3));

/** What a week's report is held against. */
export interface Held {
  ledger: Ledger;
  /** As of when it was written. */
  now: Reckoning;
  from: string;
  to: string;
}

/** The change that a line names, and what it goes on with; the name must be that of the change. */
export function namedIn({ ledger }: Pick<Held, "ledger">, line: string): { change: LedgerChange; rest: string } {
  const { target, tenant, summary, id, rest } = NAMED.exec(line)?.groups ?? {};
  const change = [...ledger.changes.values()].find((one) => one.id === id);
  expect(change, `names no change of the month: ${line}`).toBeDefined();
  expect([target, tenant], line).toEqual([change!.target, change!.tenant]);
  if (summary !== undefined) expect(summary, line).toBe(change!.summary);
  return { change: change!, rest: rest! };
}

/** The act that a step tells of: who, what, when and why must be those of the ledger. */
function actIn({ now }: Held, change: LedgerChange, step: string): Act {
  const [, verb, by, at, text] = /^(.+?)(?: by (\S+))? (\d{4}-\d\d-\d\d \d\d:\d\d)(?:: (.*))?$/.exec(step) ?? [];
  const kind = STEPS.find(([wording]) => wording.test(verb ?? ""))?.[1];
  expect(kind, `not known: ${step}`).toBeDefined();
  const did = /^(denied|withdrawn|revoked|expired|lapsed|applied)$/.test(verb!) ? verb : kind;
  const act = now.acts.find((one) => one.change === change.name && one.did === did && minute(one.at) === at);
  expect(act, `never happened to ${change.name}: ${step}`).toBeDefined();
  expect(by ?? null, step).toBe(act!.by);
  if (act!.by === null)
    expect(text ?? "", step).toMatch(
      /^(|“no consent within 120 hours”|“not applied within 240 hours”|the guardrail saw `incident_rate` go from 0.038 to 0.065, worse)$/,
    );
  else expect(text, step).toBe(act!.text && did !== "proposed" ? `“${act!.text}”` : undefined);
  if (did === "approved") {
    expect(verb!.includes("in an emergency"), step).toBe(act!.emergency === true);
    expect(/required|missing/.test(verb!), step).toBe(act!.leaves === "pending_consent");
  }
  return act!;
}

/** How a KPI moved, by its gain; `falls`: the lower the better. */
const wentBy = (gain: number, falls: boolean): string =>
  gain === 0
    ? "did not move"
    : `${gain > 0 === falls ? "fell" : "rose"} by ${Math.abs(gain)} (${gain > 0 ? "better" : "worse"})`;

const items = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
const cells = (lines: readonly string[]): string[][] =>
  lines
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .slice(1)
    .map((line) =>
      line
        .slice(2, -2)
        .split(" | ")
        .map((cell) => cell.replaceAll("`", "")),
    );

/** The tables among lines, each without its head. */
const tablesOf = (lines: readonly string[]): string[][][] => {
  const tables: string[][][] = [];
  for (const [index, line] of lines.entries())
    if (line.startsWith("| ---")) {
      const rows = lines.slice(index - 1);
      const end = rows.findIndex((row, at) => !row.startsWith("| ") || (at > 0 && rows[at + 1]?.startsWith("| ---")));
      tables.push(cells(end === -1 ? rows : rows.slice(0, end)));
    }
  return tables;
};

/** What is neither an item, a row nor a sub-heading must be one of these. */
function nothingElse(lines: readonly string[], ...known: (string | RegExp)[]): void {
  for (const line of lines)
    if (!/^(- |\| |### )/.test(line))
      expect(
        known.some((one) => (one instanceof RegExp ? one.test(line) : one === line)),
        `not known: ${line}`,
      ).toBe(true);
}
const names = (changes: readonly LedgerChange[]): string[] => changes.map(({ name }) => name).sort();

/** The checks of a week's report, by the heading of the part. */
export const CHECKS: Readonly<Record<string, (lines: string[], held: Held) => void>> = {
  "What waits, and for whom"(lines, held) {
    const { now } = held;
    nothingElse(lines);
    const told = items(lines).filter((line) => line !== "Nothing waits for anybody.");
    const seen: Record<string, LedgerChange[]> = { review: [], consent: [], apply: [], drift: [] };
    for (const line of told) {
      const { change, rest } = namedIn(held, line);
      const approved = now.actOf(change.name, "approved")?.at ?? "";
      const due = minute(hoursAfter(approved || now.at, 72));
      const expected = {
        review: ` waits for review of an emergency, due ${due}, by bo@acme.example`,
        consent: ` waits for consent of ${now
          .lackingOf(change)
          .map((of) => of.join(" or "))
          .join(
            " and of ",
          )}, since ${minute(now.actOf(change.name, "proposed")!.at)}, expires ${minute(hoursAfter(now.actOf(change.name, "proposed")!.at, 120))}`,
        apply: ` waits for its apply, approved ${minute(approved)}, lapses ${minute(hoursAfter(approved || now.at, 240))}`,
        drift: ` waits for somebody to mend its drift: missing on the host since ${minute(now.actOf(change.name, "drifted")?.at ?? now.at)}`,
      };
      const kind = (Object.keys(expected) as (keyof typeof expected)[]).find((one) => expected[one] === rest);
      expect(kind, `not so: ${line}\nexpected one of ${JSON.stringify(expected, null, 1)}`).toBeDefined();
      seen[kind!]!.push(change);
    }
    expect(Object.fromEntries(Object.entries(seen).map(([kind, found]) => [kind, names(found)]))).toEqual({
      review: names(now.reviewsDue()),
      consent: names(now.waitingFor("pending_consent")),
      apply: names(now.waitingFor("approved")),
      drift: names(now.drifting()),
    });
  },

  "What became of promises"(lines, held) {
    const { ledger, now, from } = held;
    const groups: Record<string, string[]> = {
      Broken: ["missed", "regressed"],
      Kept: ["met"],
      "Too early to judge": ["too_early"],
      "Not to be judged": ["inconclusive"],
    };
    const judged = now.known.filter(({ name, kpi }) => {
      const outcome = now.outcomeOf(name);
      return kpi !== null && outcome && (outcome.state === "open" || outcome.closed_at >= `${from}T00:00:00.000Z`);
    });
    nothingElse(
      lines,
      judged.length === 0
        ? "No applied change whose time is not over promised anything."
        : "A movement is a correlation: nothing here shows that a change caused it.",
    );
    const told: LedgerChange[] = [];
    let group = "";
    let left = 0;
    for (const line of lines.filter((one) => /^(- |### )/.test(one))) {
      if (line.startsWith("### ")) {
        expect(left, `${group} has as many as it says`).toBe(0);
        [, group, left] = [...(/^### (.+): (\d+)$/.exec(line) ?? [])].map((part, index) =>
          index === 2 ? Number(part) : part,
        ) as [string, string, number];
        continue;
      }
      left--;
      const { change, rest } = namedIn(held, line.slice(2));
      const outcome = now.outcomeOf(change.name)!;
      expect(groups[group], line).toContain(outcome.verdict);
      const isEarly = outcome.verdict === "too_early";
      const early = outcome.state === "final" ? "ended too early to judge" : "too early to judge";
      const word = isEarly ? early : outcome.verdict;
      const state =
        outcome.ended_by === null
          ? `judged on ${minute(outcome.judged_from)}`
          : `final, ended by ${outcome.ended_by === "change" ? "another change" : outcome.ended_by}`;
      const falls = outcome.kpi === "incident_rate";
      const others = outcome.shared.length;
      const moved =
        outcome.realised === null ? "not measured since the apply" : `it ${wentBy(outcome.realised, falls)}`;
      const shared =
        outcome.realised === null || others === 0 ? "" : `, shared with ${others} other${others === 1 ? "" : "s"}`;
      const scope = outcome.realised === null ? "" : ", a KPI of the whole product";
      const [movement, sharers] = rest.split(" It shares that with ");
      expect(movement, line).toBe(
        `: ${word}, ${state}. ${outcome.kpi}: expected to ${falls ? "fall" : "rise"} by ${outcome.expected}, ${moved}${shared}${scope}.`,
      );
      const targets = (sharers ?? "").match(/`[^`]+`/g)?.map((one) => one.slice(1, -1)) ?? [];
      const all = outcome.shared.map((name) => changeNamed(ledger, name).target);
      expect(all, line).toEqual(expect.arrayContaining(targets));
      told.push(change);
    }
    expect(left).toBe(0);
    expect(names(told)).toEqual(names(judged));
  },

  "What happened"(lines, held) {
    const { now, from, to } = held;
    const within = now.acts.filter(({ at }) => isWithin(at, from, to));
    const count = (...dids: Did[]) => within.filter(({ did }) => dids.includes(did)).length;
    const minor = within.filter(
      ({ did, change }) => did === "proposed" && changeNamed(held.ledger, change!).tier === "minor",
    );
    const attempts = now.attempts(from, to);
    const closed = now.known.filter(({ name }) => isWithin(now.closedAt(name) ?? "", from, to));
    const verdicts = closed.flatMap(({ name }) => now.outcomeOf(name)?.verdict ?? []);
    const of = (verdict: string) => verdicts.filter((one) => one === verdict).length;
    const rollbacks = within.filter(({ did }) => did === "rolled_back");
    const counts = items(lines.slice(0, lines.findIndex((line) => line.startsWith("###")) >>> 0)).filter(
      (line) => !line.startsWith("`"),
    );
    expect(counts).toEqual([
      `proposed: ${count("proposed")}`,
      `decided: ${within.filter(({ leaves }) => leaves === "approved").length} approved, ${count("denied")} denied, ${count("withdrawn")} withdrawn, ${count("expired")} expired, ${count("revoked")} revoked, ${count("lapsed")} lapsed, ${minor.length} minor`,
      `apply attempts: ${attempts.length}, of which ${attempts.filter(({ failed }) => failed).length} failed since`,
      `rollbacks: ${rollbacks.filter(({ by }) => by !== null).length} by a person, ${rollbacks.filter(({ by }) => by === null).length} by a guardrail, ${count("rollback_failed")} failed`,
      `closed: ${closed.length}; verdicts: ${of("met")} met, ${of("missed")} missed, ${of("regressed")} regressed, ${of("too_early")} too early to judge, ${of("inconclusive")} inconclusive`,
      `drift: ${count("drifted")} episodes`,
      `KPI feeds: ${count("fed")}`,
    ]);
    // Change by change: every act of the week stands there once, under how the change stands.
    const told: Act[] = [];
    let title = "";
    const groups = new Map<string, number>();
    for (const line of lines) {
      if (line.startsWith("### ")) {
        const [, name, size] = /^### (.+): (\d+)$/.exec(line)!;
        groups.set((title = name!), Number(size));
      } else if (line.startsWith("- `")) {
        const { change, rest } = namedIn(held, line.slice(2));
        groups.set(title, groups.get(title)! - 1);
        const standing = now.standingOf(change);
        const ended = now.actOf(change.name, "expired", "lapsed")
          ? "Expired or lapsed"
          : "Denied, withdrawn or revoked";
        expect(title, line).toBe(
          {
            applied: "Applied",
            rolled_back: "Rolled back",
            approved: "Approved, not applied",
            pending_consent: "Waiting for consent",
            denied: ended,
          }[standing],
        );
        told.push(
          ...rest
            .slice(2)
            .split("; ")
            .map((step) => actIn(held, change, step)),
        );
      }
    }
    expect(
      [...groups.values()].every((left) => left === 0),
      "each group has as many as it says",
    ).toBe(true);
    const happened = within.filter(({ change, did }) => change && did !== "drift_mended" && did !== "apply_refused");
    expect(new Set(told)).toEqual(new Set(happened));
    expect(told).toHaveLength(happened.length);
    nothingElse(lines, ...(happened.length === 0 ? ["No change was touched."] : []));
  },

  "Failures, rollbacks and drift"(lines, held) {
    const { now, from, to } = held;
    const failed = now.acts.filter(
      ({ at, did }) =>
        isWithin(at, from, to) && ["apply_failed", "rolled_back", "rollback_failed", "drifted"].includes(did),
    );
    const told = items(lines).map((line) => {
      const { change, rest } = namedIn(held, line);
      return actIn(held, change, rest.slice(2));
    });
    expect(told).toEqual(failed);
    nothingElse(lines, ...(failed.length === 0 ? ["Nothing failed, was rolled back or drifted."] : []));
  },

  "Refused proposals, freezes and emergencies"(lines, held) {
    nothingElse(lines);
    const { now, from, to } = held;
    const expected = now.acts.filter(
      ({ at, did, emergency }) =>
        isWithin(at, from, to) && (did === "refused" || did === "froze" || did === "reviewed" || emergency),
    );
    const told = items(lines).map((line): Act | undefined => {
      const refused = /^refused: a proposal on `(.+)` of t1 by (\S+) (.{16}) \(forbidden_target\)$/.exec(line);
      if (refused)
        return now.acts.find(
          ({ did, text, by, at }) =>
            did === "refused" && text === refused[1] && by === refused[2] && minute(at) === refused[3],
        );
      const froze = /^frozen by (\S+) (.{16}) until 2026-11-01 18:00: “(.*)”$/.exec(line);
      if (froze)
        return now.acts.find(
          ({ did, text, by, at }) => did === "froze" && by === froze[1] && minute(at) === froze[2] && text === froze[3],
        );
      expect(line, "not known").toMatch(/^emergency: /);
      const { change, rest } = namedIn(held, line.slice("emergency: ".length));
      return actIn(held, change, rest.slice(2));
    });
    expect(told).toEqual(expected);
  },

  KPIs(lines, { now, from, to }) {
    const [before, end] = [`${from}T00:00:00.000Z`, `${to}T23:59:59.999Z`];
    const rows = now.effect().parts.flatMap(({ kpi, target, stale }) => {
      const [was, fed] = [now.fedBy(kpi, before), now.fedBy(kpi, end)];
      if (!fed) return [];
      const gain = was && Number((fed.value - was.value).toPrecision(12));
      const isLow = kpi === "incident_rate";
      const moved = gain === undefined ? "first fed" : wentBy((isLow ? -gain : gain) || 0, isLow);
      return [
        [
          kpi,
          was ? String(was.value) : "–",
          String(fed.value),
          moved,
          String(target),
          `${minute(fed.at)}${stale ? ", stale" : ""}`,
        ],
      ];
    });
    expect(cells(lines)).toEqual(rows);
    nothingElse(lines, ...(rows.length === 0 ? ["No KPI was fed yet."] : []));
  },

  "Due within seven days"(lines, held) {
    const { now } = held;
    const end = hoursAfter(now.at, 7 * 24);
    const due = [
      ...now
        .waitingFor("pending_consent")
        .map((one) => [hoursAfter(now.actOf(one.name, "proposed")!.at, 120), one, "expires"] as const),
      ...now
        .waitingFor("approved")
        .map((one) => [hoursAfter(now.actOf(one.name, "approved")!.at, 240), one, "lapses"] as const),
      ...now
        .reviewsDue()
        .map((one) => [hoursAfter(now.actOf(one.name, "approved")!.at, 72), one, "is to be reviewed"] as const),
      ...now.known.flatMap((one) => {
        const outcome = now.outcomeOf(one.name);
        if (!outcome || outcome.state === "final" || outcome.kpi === null) return [];
        return [[outcome.judged_from, one, "is judged"] as const];
      }),
      ...now
        .goals()
        .flatMap(({ kpi, deadline }) =>
          deadline === undefined
            ? []
            : [[hoursAfter(`${deadline}T00:00:00.000Z`, 24), { name: kpi }, "is to be reached"] as const],
        ),
    ].filter(([at]) => at <= end);
    const told = items(lines).map((line) => {
      const what = line.slice("2026-11-17 09:00: ".length);
      const [, goal] = /^the deadline of the goal for `(\w+)`$/.exec(what) ?? [];
      if (goal !== undefined) return `${line.slice(0, 16)} ${goal} is to be reached`;
      const { change, rest } = namedIn(held, what);
      return `${line.slice(0, 16)} ${change.name}${rest}`;
    });
    expect([...told].sort()).toEqual(due.map(([at, { name }, what]) => `${minute(at)} ${name} ${what}`).sort());
    expect(items(lines)).toEqual(items(lines).toSorted());
    nothingElse(lines, ...(due.length === 0 ? ["Nothing is due within seven days."] : []));
  },

  "Who did what"(lines, held) {
    const { ledger, now, from, to } = held;
    nothingElse(lines, "Decisions by level of autonomy:");
    const verbs: Partial<Record<Did, string>> = { rolled_back: "rolled back" };
    const done = new Map<string, Map<string, string[]>>();
    for (const { at, by, did, change } of now.acts) {
      if (!isWithin(at, from, to) || by === null || !change || !DEEDS.includes(did)) continue;
      const verb = verbs[did] ?? did;
      const mine = done.get(by) ?? new Map<string, string[]>();
      mine.set(verb, [...(mine.get(verb) ?? []), changeNamed(ledger, change).target]);
      done.set(by, mine);
    }
    const told = items(lines).map((line) => line.replaceAll("`", ""));
    expect(told.sort()).toEqual(
      [...done]
        .map(
          ([name, mine]) =>
            `${name}: ${[...mine].map(([verb, targets]) => `${verb} ${targets.join(", ")}`).join("; ")}`,
        )
        .sort(),
    );
    expect(Object.fromEntries(cells(lines))).toEqual(levelsOf(held));
  },

  Goals(lines, { now }) {
    nothingElse(lines.slice(0, -1));
    expect(lines.at(-1)).toMatch(/^Computed from /);
    expect(cells(lines)).toEqual(
      now
        .goals()
        .map(({ kpi, baseline, target, current = "no data", deadline = "–", status }) =>
          [kpi, baseline, target, current, deadline, status].map(String),
        ),
    );
  },

  Values(lines, { ledger, now, from, to }) {
    const valuesAt = (at: string) => {
      const then = reckonAt(ledger, at);
      return { E: then.effect().value, M: then.memory().value, R: then.reliability().value, N: then.need().value };
    };
    // The end of a week that is not over is now.
    const last = `${to}T23:50:00.000Z` < now.at ? `${to}T23:50:00.000Z` : now.at;
    const [before, end] = [valuesAt(`${from}T00:00:00.000Z`), valuesAt(last)];
    const rows = cells(lines);
    for (const name of ["E", "M", "R", "N"] as const)
      expect(rows.find(([first]) => first === name)).toEqual([
        name,
        fixed(before[name]),
        fixed(end[name]),
        fixed(valuesAt(now.at)[name]),
      ]);
    expect(rows.map(([first]) => first)).toEqual(["E", "M", "R", "N"]);
    nothingElse(lines, `M looks back from ${now.memory().from}, R 30 days from ${now.reliability().from}.`);
  },
};

const DEEDS: Did[] = ["proposed", "approved", "denied", "withdrawn", "revoked", "applied", "rolled_back", "reviewed"];

/** Decisions by who proposed: a person, or a program or model; by rule; and drift. */
function levelsOf({ ledger, now, from, to }: Held): Record<string, string> {
  const levels = { L1: 0, L2: 0, L3: 0, L4: 0, L5: 0, unattributed: 0 };
  for (const { at, by, did, change, leaves } of now.acts) {
    if (!isWithin(at, from, to) || !change) continue;
    const { proposer, tier } = changeNamed(ledger, change);
    const isDecision = (did === "approved" && leaves === "approved") || ["denied", "withdrawn"].includes(did);
    if (isDecision) levels[/^(agent|llm):/.test(proposer) ? "L3" : "L1"]++;
    if ((did === "proposed" && tier === "minor") || (did === "rolled_back" && by === null)) levels.L4++;
    if (did === "drifted") levels.L5++;
  }
  return Object.fromEntries(Object.entries(levels).map(([level, count]) => [level, String(count)]));
}

export { cells, fixed, items, nothingElse, tablesOf };
