/**
 * The figures of the month a second way: reckoned from the ledger alone, act by act, by the words of the specification and
 * none of the service's code.
 */
import { type Act, listActs, changeNamed, type Did, type Ledger, type LedgerChange, type Standing } from "./ledger.ts";
import { ANA, BO, CHEN, ERIN, INTENT } from "./who_and_what.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
type Kpi = keyof typeof INTENT.kpis;

/** A moment so many hours later. */
export const addHours = (at: string, hours: number): string => new Date(Date.parse(at) + hours * HOUR_MS).toISOString();

/** The outcome of an applied change. */
export interface ReckonedOutcome {
  kpi: string | null;
  expected: number | null;
  realised: number | null;
  verdict: "met" | "missed" | "regressed" | "inconclusive" | "too_early";
  shared: string[];
  state: "open" | "final";
  ended_by: "horizon" | "rollback" | "guardrail" | "change" | null;
  closed_at: string;
  judged_from: string;
}

/** The span of an outcome, and what ends it. */
interface Span {
  from: string;
  to: string;
  horizon: string;
  ended_by: "rollback" | "change" | "horizon";
}

/** State of the ledger as of a moment. */
export function reckon(ledger: Ledger, at: string) {
  const acts = ledger.acts.filter((act) => act.at <= at);
  const known = [...ledger.changes.values()].filter(({ name }) => actOf(name, "proposed"));
  const feeds = acts.filter(({ did }) => did === "fed");

  function actOf(name: string, ...dids: Did[]): Act | undefined {
    return acts.filter(({ change, did }) => change === name && dids.includes(did)).at(-1);
  }

  function standingOf({ name, tier }: LedgerChange): Standing {
    if (actOf(name, ...ENDED)) return "denied";
    if (actOf(name, "rolled_back")) return "rolled_back";
    if (actOf(name, "applied")) return "applied";
    const isApproved =
      tier === "minor" || listActs({ ...ledger, acts }, name).some(({ leaves }) => leaves === "approved");
    return isApproved ? "approved" : "pending_consent";
  }

  const isDrifting = (name: string): boolean => actOf(name, "drifted", "drift_mended")?.did === "drifted";

  /** The value of a KPI by the feeds up to a moment, and when it was fed. */
  function fedBy(kpi: string, moment: string): { value: number; at: string } | undefined {
    const last = feeds.filter((feed) => feed.at <= moment && feed.values![kpi] !== undefined).at(-1);
    return last && { value: last.values![kpi]!, at: last.at };
  }

  const windowOf = (name: string): Span | undefined => {
    const applied = actOf(name, "applied")?.at;
    if (!applied) return undefined;
    const { kpi, target, tenant } = changeNamed(ledger, name);
    const isThere = (other: LedgerChange) => other.target === target && other.tenant === tenant;
    const goal: { baseline?: number; deadline?: string } = kpi === null ? {} : INTENT.kpis[kpi as Kpi];
    const deadline = goal.deadline && new Date(Date.parse(goal.deadline) + DAY_MS).toISOString();
    const sevenDays = addHours(applied, 7 * 24);
    const horizon = deadline !== undefined && deadline > applied && deadline < sevenDays ? deadline : sevenDays;
    const replaced = acts
      .filter(({ did, at, change }) => did === "applied" && at > applied && isThere(changeNamed(ledger, change!)))
      .map(({ at }) => at)
      .sort()[0];
    const ends = { rollback: actOf(name, "rolled_back")?.at, change: replaced, horizon };
    const to = Object.values(ends)
      .flatMap((end) => end ?? [])
      .sort()[0]!;
    const ended_by = (["rollback", "change", "horizon"] as const).find((by) => ends[by] === to)!;
    return { from: applied, to, horizon, ended_by };
  };

  function outcomeOf(name: string): ReckonedOutcome | undefined {
    const window = windowOf(name);
    if (!window) return undefined;
    const { kpi, expected } = changeNamed(ledger, name);
    const { horizon: judged_from } = window;
    const isOver = window.ended_by === "horizon" ? window.to < at : window.to <= at;
    const until = isOver ? window.to : at;
    const isGuarded = window.ended_by === "rollback" && actOf(name, "rolled_back")!.by === null;
    const ended_by = !isOver ? null : isGuarded ? "guardrail" : window.ended_by;
    const state = isOver ? "final" : "open";
    const base = { kpi, expected, state, ended_by, closed_at: window.to, judged_from } as const;
    if (kpi === null) return { ...base, realised: null, verdict: "inconclusive", shared: [] };
    const before = fedBy(kpi, window.from)?.value;
    const last = fedBy(kpi, until);
    const sign = INTENT.kpis[kpi as Kpi].target >= INTENT.kpis[kpi as Kpi].baseline ? 1 : -1;
    const realised =
      before === undefined || !last || last.at <= window.from ? null : round(sign * (last.value - before));
    const shared = known
      .filter((other) => other.name !== name && other.kpi === kpi)
      .filter((other) => {
        const theirs = windowOf(other.name);
        return theirs && theirs.from < until && theirs.to > window.from;
      })
      .map((other) => other.name);
    const verdict =
      until < judged_from
        ? isGuarded && realised !== null && realised < 0
          ? "regressed"
          : realised === null && !isOver
            ? "inconclusive"
            : "too_early"
        : realised === null
          ? "inconclusive"
          : realised >= expected! - 1e-9
            ? "met"
            : realised < 0
              ? "regressed"
              : "missed";
    return { ...base, realised, verdict, shared };
  }

  /** When a change was over: denied, rolled back, or its outcome final. */
  function closedAt(name: string): string | undefined {
    const ended = actOf(name, ...ENDED)?.at;
    const window = windowOf(name);
    return ended ?? (window && outcomeOf(name)!.state === "final" ? window.to : undefined);
  }

  /** Items that should be on record of a closed change, and the missing ones. */
  function recordOf({ name, tier, rationale }: LedgerChange): { expected: number; missing: string[] } {
    const missing = rationale === null ? ["rationale"] : [];
    let expected = 2;
    if (actOf(name, "expired", "lapsed")) missing.push("decider");
    if (tier !== "minor") {
      expected++;
      const noted = acts.some(
        ({ change, did, text }) => change === name && (did === "approved" || ENDED.includes(did)) && Boolean(text),
      );
      if (!noted) missing.push("note");
    }
    const outcome = outcomeOf(name);
    if (!outcome) return { expected, missing };
    const isJudged = outcome.verdict !== "inconclusive" && outcome.verdict !== "too_early";
    const cutShort = outcome.closed_at < outcome.judged_from;
    if (!isJudged && cutShort) return { expected, missing };
    return { expected: expected + 1, missing: isJudged ? missing : [...missing, "verdict"] };
  }

  function memory() {
    const from = subtractDays(at, 89);
    const closed = known.filter(({ name }) => (closedAt(name)?.slice(0, 10) ?? "") >= from);
    const records = closed.map((change) => ({ change, ...recordOf(change) }));
    const expected = records.reduce((sum, record) => sum + record.expected, 0);
    const lacking = records.flatMap(({ missing }) => missing);
    const present = expected - lacking.length;
    const gaps = records.filter(({ missing }) => missing.length > 0);
    gaps.sort((a, b) => (closedAt(a.change.name)! < closedAt(b.change.name)! ? 1 : -1));
    return {
      value: expected === 0 ? null : present / expected,
      from,
      closed: closed.length,
      expected,
      present,
      lacking,
      gaps,
    };
  }

  /** The applies attempted within days, and what became of each until now. */
  function attempts(from: string, to: string) {
    return acts
      .filter(({ did, at: day }) => (did === "applied" || did === "apply_failed") && isWithin(day, from, to))
      .map(({ did, change }) => {
        const causes = [
          ...(did === "apply_failed" ? ["adapter"] : []),
          ...(did === "applied" && actOf(change!, "rolled_back") ? ["rolled back"] : []),
          ...(did === "applied" && actOf(change!, "drifted") ? ["drifted"] : []),
        ];
        return { change: changeNamed(ledger, change!), causes, failed: causes.length > 0 };
      });
  }

  function reliability() {
    const from = subtractDays(at, 29);
    const all = attempts(from, at.slice(0, 10));
    const failed = all.filter((one) => one.failed).length;
    return { value: all.length === 0 ? null : 1 - failed / all.length, from, all, n: all.length, failed };
  }

  function effect() {
    const parts = (Object.keys(INTENT.kpis) as Kpi[]).sort().flatMap((kpi) => {
      const fed = fedBy(kpi, at);
      if (!fed) return [];
      const { baseline, target, weight } = INTENT.kpis[kpi];
      const floor = 2 * baseline - target;
      const attainment = Math.min(1, Math.max(0, (fed.value - floor) / (target - floor)));
      return [{ kpi, ...fed, weight, target, attainment, stale: Date.parse(at) - Date.parse(fed.at) > 7 * DAY_MS }];
    });
    const weights = parts.reduce((sum, { weight }) => sum + weight, 0);
    const value = parts.reduce((sum, { weight, attainment }) => sum + weight * attainment, 0) / weights;
    return { value: parts.length === 0 ? null : value, parts };
  }

  const waitingFor = (standing: Standing): LedgerChange[] => known.filter((change) => standingOf(change) === standing);
  const reviewsDue = (): LedgerChange[] =>
    known.filter(
      ({ name }) =>
        acts.some(({ change, emergency }) => change === name && emergency) &&
        actOf(name, "applied") &&
        !actOf(name, "reviewed"),
    );

  /** Whose consent is lacking, by rule. */
  function lackingOf(change: LedgerChange): string[][] {
    const given = acts
      .filter(({ did, change: name }) => did === "approved" && name === change.name)
      .map(({ by }) => by!);
    const own = [change.proposer, change.asked_by];
    const electors = [ANA, BO, CHEN];
    const quorum = (change.tier === "major" ? 2 : 1) - given.filter((name) => electors.includes(name)).length;
    const able = (names: string[]) => names.filter((name) => !given.includes(name) && !own.includes(name));
    return [
      ...(quorum > 0 ? [able(electors)] : []),
      ...(change.target.startsWith("pricing.") && !given.includes(ERIN) ? [able([ERIN])] : []),
    ];
  }

  /** Open items of each kind, the overdue ones, and their weight. */
  function need() {
    const isOlder = (moment: string, hours: number): boolean => Date.parse(at) - Date.parse(moment) > hours * HOUR_MS;
    const changes = (standing: "pending_consent" | "approved", since: "proposed" | "approved") => {
      const open = waitingFor(standing);
      const overdue = open.filter(({ name }) => isOlder(actOf(name, since)!.at, 24));
      const weight = overdue.reduce((sum, { risk, reversible }) => sum + (risk === "high" || !reversible ? 8 : 4), 0);
      return { open: open.length, overdue: overdue.length, weight };
    };
    const atOnce = (open: number, weight: number) => ({ open, overdue: open, weight: open * weight });
    // A task that was done was done in the night after it was asked for, before any report.
    const asked = ledger.tasks
      .filter(({ status }) => status === "queued")
      .flatMap(({ title }) => acts.find(({ did, text }) => did === "asked_for_task" && text === title)?.at ?? []);
    const late = asked.filter((moment) => isOlder(moment, 7 * 24)).length;
    const items = [
      { item: "pending_changes", ...changes("pending_consent", "proposed") },
      { item: "approved_changes", ...changes("approved", "approved") },
      { item: "tasks_low", open: asked.length, overdue: late, weight: late * 0.5 },
      { item: "drift", ...atOnce(known.filter(({ name }) => isDrifting(name)).length, 8) },
      { item: "review_due", ...atOnce(reviewsDue().length, 8) },
      { item: "stale_kpis", ...atOnce(effect().parts.filter(({ stale }) => stale).length, 2) },
    ].filter(({ open }) => open > 0);
    const weight = items.reduce((sum, item) => sum + item.weight, 0);
    return { value: weight / (weight + 8), items };
  }

  return {
    ...{ acts, known, need, standingOf, outcomeOf, memory, reliability, effect, lackingOf },
  };
}

/** State of the ledger as of a moment. */
export type Reckoning = ReturnType<typeof reckon>;

const ENDED: Did[] = ["denied", "withdrawn", "expired", "revoked", "lapsed"];
const round = (delta: number): number => Number(delta.toPrecision(12));

/** Returns whether a moment lies within days, both included. */
export const isWithin = (moment: string, from: string, to: string): boolean =>
  moment.slice(0, 10) >= from && moment.slice(0, 10) <= to;

/** The day so many days before that of a moment. */
export const subtractDays = (at: string, days: number): string =>
  new Date(Date.parse(`${at.slice(0, 10)}T00:00:00.000Z`) - days * DAY_MS).toISOString().slice(0, 10);
