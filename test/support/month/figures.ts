/**
 * A second implementation of the figures of the month: computed from the ledger alone, after the specification, without code
 * of the service.
 */
import {
  type Act,
  listActs,
  findChange,
  type ActKind,
  type Ledger,
  type LedgerChange,
  type LedgerStatus,
} from "./ledger.ts";
import { ANA, BO, CHEN, ERIN, INTENT } from "./people.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
type Kpi = keyof typeof INTENT.kpis;

/** Returns a time that is later by a number of hours. */
export const addHours = (at: string, hours: number): string => new Date(Date.parse(at) + hours * HOUR_MS).toISOString();

/** The outcome of an applied change. */
export interface ComputedOutcome {
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

/** Computes the figures at a time from the acts up to then. */
export function computeFigures(ledger: Ledger, at: string) {
  const acts = ledger.acts.filter((act) => act.at <= at);
  const changes = [...ledger.changes.values()].filter(({ name }) => findLastAct(name, "proposed"));
  const feeds = acts.filter(({ did }) => did === "fed");

  function findLastAct(name: string, ...dids: ActKind[]): Act | undefined {
    return acts.filter(({ change, did }) => change === name && dids.includes(did)).at(-1);
  }

  function statusOf({ name, tier }: LedgerChange): LedgerStatus {
    if (findLastAct(name, ...ENDED)) return "denied";
    if (findLastAct(name, "rolled_back")) return "rolled_back";
    if (findLastAct(name, "applied")) return "applied";
    const isApproved =
      tier === "minor" || listActs({ ...ledger, acts }, name).some(({ leaves }) => leaves === "approved");
    return isApproved ? "approved" : "pending_consent";
  }

  const isDrifting = (name: string): boolean => findLastAct(name, "drifted", "drift_mended")?.did === "drifted";

  /** Returns the last fed value of a KPI at a time, and when it was fed. */
  function findFeed(kpi: string, moment: string): { value: number; at: string } | undefined {
    const last = feeds.filter((feed) => feed.at <= moment && feed.values![kpi] !== undefined).at(-1);
    return last && { value: last.values![kpi]!, at: last.at };
  }

  const findSpan = (name: string): Span | undefined => {
    const applied = findLastAct(name, "applied")?.at;
    if (!applied) return undefined;
    const { kpi, target, tenant } = findChange(ledger, name);
    const hasSameTarget = (other: LedgerChange) => other.target === target && other.tenant === tenant;
    const goal: { baseline?: number; deadline?: string } = kpi === null ? {} : INTENT.kpis[kpi as Kpi];
    const deadline = goal.deadline && new Date(Date.parse(goal.deadline) + DAY_MS).toISOString();
    const sevenDays = addHours(applied, 7 * 24);
    const horizon = deadline !== undefined && deadline > applied && deadline < sevenDays ? deadline : sevenDays;
    const replacedAt = acts
      .filter(({ did, at, change }) => did === "applied" && at > applied && hasSameTarget(findChange(ledger, change!)))
      .map(({ at }) => at)
      .sort()[0];
    const ends = { rollback: findLastAct(name, "rolled_back")?.at, change: replacedAt, horizon };
    const to = Object.values(ends)
      .flatMap((end) => end ?? [])
      .sort()[0]!;
    const ended_by = (["rollback", "change", "horizon"] as const).find((by) => ends[by] === to)!;
    return { from: applied, to, horizon, ended_by };
  };

  function computeOutcome(name: string): ComputedOutcome | undefined {
    const span = findSpan(name);
    if (!span) return undefined;
    const { kpi, expected } = findChange(ledger, name);
    const { horizon: judged_from } = span;
    // An outcome is still open at the horizon itself; a rollback or another apply ends it immediately.
    const isOver = span.ended_by === "horizon" ? span.to < at : span.to <= at;
    const until = isOver ? span.to : at;
    // A rollback that nobody requested was ordered by a guardrail.
    const isByGuardrail = span.ended_by === "rollback" && findLastAct(name, "rolled_back")!.by === null;
    const ended_by = !isOver ? null : isByGuardrail ? "guardrail" : span.ended_by;
    const state = isOver ? "final" : "open";
    const base = { kpi, expected, state, ended_by, closed_at: span.to, judged_from } as const;
    if (kpi === null) return { ...base, realised: null, verdict: "inconclusive", shared: [] };
    const before = findFeed(kpi, span.from)?.value;
    const last = findFeed(kpi, until);
    const sign = INTENT.kpis[kpi as Kpi].target >= INTENT.kpis[kpi as Kpi].baseline ? 1 : -1;
    const realised = before === undefined || !last || last.at <= span.from ? null : round(sign * (last.value - before));
    const shared = changes
      .filter((other) => other.name !== name && other.kpi === kpi)
      .filter((other) => {
        const otherSpan = findSpan(other.name);
        return otherSpan && otherSpan.from < until && otherSpan.to > span.from;
      })
      .map((other) => other.name);
    const isEarly = until < judged_from;
    const earlyVerdict = realised === null && !isOver ? "inconclusive" : "too_early";
    const isLossByGuardrail = isByGuardrail && realised !== null && realised < 0;
    const verdict = isEarly ? (isLossByGuardrail ? "regressed" : earlyVerdict) : judge(realised, expected!);
    return { ...base, realised, verdict, shared };
  }

  /** Returns when a change was closed: when it was denied, or when its outcome became final. */
  function findCloseTime(name: string): string | undefined {
    const ended = findLastAct(name, ...ENDED)?.at;
    const span = findSpan(name);
    return ended ?? (span && computeOutcome(name)!.state === "final" ? span.to : undefined);
  }

  /** Returns the number of items that the record of a closed change should have, and the names of the missing items. */
  function findGaps({ name, tier, rationale }: LedgerChange): { expected: number; missing: string[] } {
    const missing = rationale === null ? ["rationale"] : [];
    // A rationale and a decider.
    let expected = 2;
    if (findLastAct(name, "expired", "lapsed")) missing.push("decider");
    if (tier !== "minor") {
      expected++;
      const hasNote = acts.some(
        ({ change, did, text }) => change === name && (did === "approved" || ENDED.includes(did)) && Boolean(text),
      );
      if (!hasNote) missing.push("note");
    }
    const outcome = computeOutcome(name);
    if (!outcome) return { expected, missing };
    const isJudged = outcome.verdict !== "inconclusive" && outcome.verdict !== "too_early";
    // The record of an outcome that ended before its horizon may lack a verdict.
    const isCutShort = outcome.closed_at < outcome.judged_from;
    if (!isJudged && isCutShort) return { expected, missing };
    return { expected: expected + 1, missing: isJudged ? missing : [...missing, "verdict"] };
  }

  function memory() {
    // 90 days, of which this one is the last.
    const from = subtractDays(at, 89);
    const closed = changes.filter(({ name }) => (findCloseTime(name)?.slice(0, 10) ?? "") >= from);
    const records = closed.map((change) => ({ change, ...findGaps(change) }));
    const expected = records.reduce((sum, record) => sum + record.expected, 0);
    const lacking = records.flatMap(({ missing }) => missing);
    const present = expected - lacking.length;
    const gaps = records.filter(({ missing }) => missing.length > 0);
    gaps.sort((a, b) => (findCloseTime(a.change.name)! < findCloseTime(b.change.name)! ? 1 : -1));
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

  /** Lists the attempted applies from one day to another, with the causes of failure until now. */
  function listAttempts(from: string, to: string) {
    return acts
      .filter(({ did, at: day }) => (did === "applied" || did === "apply_failed") && isWithin(day, from, to))
      .map(({ did, change }) => {
        const causes = [
          ...(did === "apply_failed" ? ["adapter"] : []),
          ...(did === "applied" && findLastAct(change!, "rolled_back") ? ["rolled back"] : []),
          ...(did === "applied" && findLastAct(change!, "drifted") ? ["drifted"] : []),
        ];
        return { change: findChange(ledger, change!), causes, failed: causes.length > 0 };
      });
  }

  function reliability() {
    // 30 days, of which this one is the last.
    const from = subtractDays(at, 29);
    const all = listAttempts(from, at.slice(0, 10));
    const failed = all.filter((one) => one.failed).length;
    return { value: all.length === 0 ? null : 1 - failed / all.length, from, all, n: all.length, failed };
  }

  function effect() {
    const parts = (Object.keys(INTENT.kpis) as Kpi[]).sort().flatMap((kpi) => {
      const fed = findFeed(kpi, at);
      if (!fed) return [];
      const { baseline, target, weight } = INTENT.kpis[kpi];
      // The attainment is 0 as far below the baseline as the target is above it, and 0.5 at the baseline.
      const floor = 2 * baseline - target;
      const attainment = Math.min(1, Math.max(0, (fed.value - floor) / (target - floor)));
      return [{ kpi, ...fed, weight, target, attainment, stale: Date.parse(at) - Date.parse(fed.at) > 7 * DAY_MS }];
    });
    const weights = parts.reduce((sum, { weight }) => sum + weight, 0);
    const value = parts.reduce((sum, { weight, attainment }) => sum + weight * attainment, 0) / weights;
    return { value: parts.length === 0 ? null : value, parts };
  }

  const listByStatus = (status: LedgerStatus): LedgerChange[] =>
    changes.filter((change) => statusOf(change) === status);
  const reviewsDue = (): LedgerChange[] =>
    changes.filter(
      ({ name }) =>
        acts.some(({ change, emergency }) => change === name && emergency) &&
        findLastAct(name, "applied") &&
        !findLastAct(name, "reviewed"),
    );

  /** Returns, for each rule that lacks a consent, the people who can give one. */
  function listMissingConsents(change: LedgerChange): string[][] {
    const approvers = acts
      .filter(({ did, change: name }) => did === "approved" && name === change.name)
      .map(({ by }) => by!);
    const requesters = [change.proposer, change.asked_by];
    // The approvers of the intent in people.ts, where Erin owns pricing.
    const eligible = [ANA, BO, CHEN];
    const quorum = (change.tier === "major" ? 2 : 1) - approvers.filter((name) => eligible.includes(name)).length;
    const withoutUsed = (names: string[]) =>
      names.filter((name) => !approvers.includes(name) && !requesters.includes(name));
    return [
      ...(quorum > 0 ? [withoutUsed(eligible)] : []),
      ...(change.target.startsWith("pricing.") && !approvers.includes(ERIN) ? [withoutUsed([ERIN])] : []),
    ];
  }

  /** Computes the need from the open items of each kind, the overdue items and their weights. */
  function need() {
    const isOlder = (moment: string, hours: number): boolean => Date.parse(at) - Date.parse(moment) > hours * HOUR_MS;
    const countChanges = (status: "pending_consent" | "approved", since: "proposed" | "approved") => {
      const open = listByStatus(status);
      const overdue = open.filter(({ name }) => isOlder(findLastAct(name, since)!.at, 24));
      const weight = overdue.reduce((sum, { risk, reversible }) => sum + (risk === "high" || !reversible ? 8 : 4), 0);
      return { open: open.length, overdue: overdue.length, weight };
    };
    const alwaysOverdue = (open: number, weight: number) => ({ open, overdue: open, weight: open * weight });
    // Tasks run in the night after their request, before any report: a completed task is never open here.
    const requestTimes = ledger.tasks
      .filter(({ status }) => status === "queued")
      .flatMap(({ title }) => acts.find(({ did, text }) => did === "asked_for_task" && text === title)?.at ?? []);
    const late = requestTimes.filter((moment) => isOlder(moment, 7 * 24)).length;
    const items = [
      { item: "pending_changes", ...countChanges("pending_consent", "proposed") },
      { item: "approved_changes", ...countChanges("approved", "approved") },
      { item: "tasks_low", open: requestTimes.length, overdue: late, weight: late * 0.5 },
      { item: "drift", ...alwaysOverdue(changes.filter(({ name }) => isDrifting(name)).length, 8) },
      { item: "review_due", ...alwaysOverdue(reviewsDue().length, 8) },
      { item: "stale_kpis", ...alwaysOverdue(effect().parts.filter(({ stale }) => stale).length, 2) },
    ].filter(({ open }) => open > 0);
    const weight = items.reduce((sum, item) => sum + item.weight, 0);
    return { value: weight / (weight + 8), items };
  }

  return {
    acts,
    changes,
    need,
    computeOutcome,
    memory,
    reliability,
    effect,
    listMissingConsents,
  };
}

/** The figures at a time. */
export type MonthFigures = ReturnType<typeof computeFigures>;

/** Returns the verdict of an outcome at its horizon. */
function judge(realised: number | null, expected: number): ComputedOutcome["verdict"] {
  if (realised === null) return "inconclusive";
  if (realised >= expected - 1e-9) return "met";
  return realised < 0 ? "regressed" : "missed";
}

const ENDED: ActKind[] = ["denied", "withdrawn", "expired", "revoked", "lapsed"];
const round = (delta: number): number => Number(delta.toPrecision(12));

/** Returns whether a time is on one of the days from `from` to `to`. */
export const isWithin = (moment: string, from: string, to: string): boolean =>
  moment.slice(0, 10) >= from && moment.slice(0, 10) <= to;

/** Returns the day that is a number of days before a time. */
export const subtractDays = (at: string, days: number): string =>
  new Date(Date.parse(`${at.slice(0, 10)}T00:00:00.000Z`) - days * DAY_MS).toISOString().slice(0, 10);
