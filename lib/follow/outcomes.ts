/**
 * Outcomes of applied changes: opened at the apply, judged at each feed, closed by their rollback or when their time is over
 * with the values that were fed by then; and what is counted, told and remembered when a change is over.
 */
import { feed, type KpiState, NO_KPIS } from "../governance/rules/kpi.ts";
import {
  closesAt,
  finalOutcome,
  openOutcome,
  type Outcome,
  outcomeOf,
  type OutcomeRecord,
} from "../governance/rules/outcome.ts";
import { type FollowDeps, type Follower, type Following, MOST_A_STEP, type ToldChange } from "./follower.ts";
import type { Entry } from "./entries.ts";
import { addRow } from "./growth_row.ts";
import { addMemory, named } from "./memories.ts";
import { closingTally, type Gap, newestGaps } from "./record_keeping.ts";
import { push, type Ring, seqAt } from "./ring.ts";
import { bump, type Tally } from "./tally.ts";

declare module "../store/store.ts" {
  interface Collections {
    outcomes: OutcomeRecord;
    /** `outcomes_open/<applied at>:<change_id>`: in the order in which their time runs out. */
    outcomes_open: { kpi: string | null };
    /** `closing_days/<UTC day>`: what was counted of the changes that were closed on it. */
    closing_days: Tally;
    /** `closed/<16 digits>`: changes in the order in which they were over. */
    closed: string;
    /** `kpi_days/<UTC day>`: the values after the day's last feed. */
    kpi_days: Pick<KpiState, "values"> & { at: string };
  }
}

interface State {
  kpis: KpiState;
  /** The manifest under which the last entry was written that names one. */
  manifest: string | null;
  /** When time closes the next outcome. */
  due: string | null;
  total: Tally;
  gaps: Gap[];
  rows: Required<Ring>;
  memories: Required<Ring>;
  closed: Required<Ring>;
  /** How many outcomes time closed, and how many verdicts were new, since the log began. */
  timed_out: number;
  verdicts: number;
}

const CLOSED_KEPT = 10_000;
const PAGE = 50;
/** What a new verdict writes at most. */
const VERDICT_WRITES = 6;
/** Rows and memories of outcomes stand behind those of the entry itself. */
const BEHIND = 100_000;
const EMPTY = { seq: 0, count: 0 };

export const outcomes: Follower<State> = {
  name: "outcomes",
  collections: [
    "outcomes",
    "outcomes_open",
    "outcome_rows",
    "outcome_rows_kinds",
    "outcome_memories",
    "closing_days",
    "closed",
    "kpi_days",
  ],
  retired: ["closings", "gaps", "retrospectives_due", "verdicts"].map((collection) => ({ collection })),
  start: {
    kpis: NO_KPIS,
    manifest: null,
    due: null,
    total: {},
    gaps: [],
    rows: EMPTY,
    memories: EMPTY,
    closed: EMPTY,
    timed_out: 0,
    verdicts: 0,
  },

  async follow(on, entry, step) {
    if (entry.facts.manifest_hash !== undefined) on.state = { ...on.state, manifest: entry.facts.manifest_hash };
    switch (entry.event_type) {
      case "kpi_refreshed":
        return judge(on, entry, step);
      case "consent_decision":
        return entry.facts.status === "denied"
          ? over(on, await on.change(entry.change_id), null, entry.timestamp)
          : undefined;
      case "change_applied":
        return open(on, entry);
      case "change_rolled_back":
        return rolledBack(on, entry);
    }
  },

  async elapse(on, until) {
    while (on.state.due !== null && on.state.due < until) {
      if (!on.room(MOST_A_STEP)) return false;
      const [oldest] = await on.tx.list("outcomes_open", { limit: 1, keysOnly: true });
      const record = (await on.tx.get("outcomes", changeAt(oldest!.id)))!.value;
      await close(on, record, "time", closesAt(record.applied_at));
      on.state = { ...on.state, timed_out: on.state.timed_out + 1 };
    }
    return true;
  },
};

/** Tells how many outcomes time closed while something ran, and how many verdicts were new; 0 where that cannot be read. */
export async function judgedMeanwhile(
  { store }: Pick<FollowDeps, "store">,
  run: () => Promise<void>,
): Promise<{ closed: number; new_verdicts: number }> {
  const soFar = async () => (await store.get("cursors", outcomes.name).catch(() => undefined))?.value.state as State;
  const before: State | undefined = await soFar();
  await run();
  const after: State = (await soFar()) ?? before ?? outcomes.start;
  const { timed_out, verdicts } = before ?? outcomes.start;
  return { closed: after.timed_out - timed_out, new_verdicts: after.verdicts - verdicts };
}

const openKey = ({ applied_at, change_id }: OutcomeRecord): string => `${applied_at}:${change_id}`;
/** The change of a place in `outcomes_open`. */
const changeAt = (key: string): string => key.slice(key.indexOf("Z:") + 2);

async function open(on: Following<State>, { change_id, timestamp: at, id: entry }: Entry): Promise<void> {
  const record = openOutcome(await on.change(change_id), on.state.kpis, { at, entry });
  on.tx.put("outcomes", change_id, record);
  on.tx.put("outcomes_open", openKey(record), { kpi: record.kpi });
  const { due } = on.state;
  on.state = { ...on.state, due: due !== null && due < closesAt(at) ? due : closesAt(at) };
}

/** Takes a feed in, and tells each open outcome's first verdict and each change of it. */
async function judge(on: Following<State>, { id, timestamp: at, facts }: Entry, step: string): Promise<string | void> {
  const fed = facts.values ?? {};
  if (step === "") {
    const kpis = feed(on.state.kpis, fed, at, id);
    on.state = { ...on.state, kpis };
    on.tx.put("kpi_days", at.slice(0, 10), { at, values: kpis.values });
  }
  const intent = await on.intentOf(on.state.manifest);
  for (let after = step; ;) {
    const page = await on.tx.list("outcomes_open", { after, limit: PAGE });
    const places = page.flatMap(({ id, value: { kpi } }) => (kpi !== null && Object.hasOwn(fed, kpi) ? id : []));
    const records = await on.tx.getMany("outcomes", places.map(changeAt));
    for (const [index, place] of places.entries()) {
      const record = records[index]!.value;
      const outcome = outcomeOf(record, on.state.kpis, intent, at);
      if (outcome.verdict !== "inconclusive" && outcome.verdict !== record.verdict) {
        if (!on.room(VERDICT_WRITES)) return after;
        on.tx.put("outcomes", record.change_id, { ...record, verdict: outcome.verdict });
        const title = record.verdict
          ? `The outcome of ${record.change_id} went from ${record.verdict} to ${outcome.verdict}`
          : `The first verdict on ${record.change_id} is ${outcome.verdict}`;
        await tell(on, outcome, title, movementOf(outcome), at);
        on.state = { ...on.state, verdicts: on.state.verdicts + 1 };
      }
      after = place;
    }
    if (page.length < PAGE) return undefined;
    after = page.at(-1)!.id;
  }
}

async function rolledBack(on: Following<State>, { change_id, timestamp }: Entry): Promise<void> {
  const record = (await on.tx.get("outcomes", change_id))?.value;
  if (record && !record.final) return close(on, record, "rollback", timestamp);
  // Its time had closed it already; it is told of once more, not counted.
  return keepClosed(on, change_id);
}

async function close(on: Following<State>, record: OutcomeRecord, by: "time" | "rollback", at: string): Promise<void> {
  const { change_id } = record;
  const final = finalOutcome(record, by, on.state.kpis, await on.intentOf(on.state.manifest), at);
  on.tx.put("outcomes", change_id, { ...record, final });
  on.tx.delete("outcomes_open", openKey(record));
  const [next] = await on.tx.list("outcomes_open", { limit: 1, keysOnly: true });
  on.state = { ...on.state, due: next ? closesAt(next.id.slice(0, next.id.indexOf("Z:") + 1)) : null };
  const change = await on.change(change_id);
  await over(on, change, final, at);
  const how = by === "rollback" ? "by its rollback" : "after 30 days";
  const title = `The outcome of ${change_id} is final: ${final.verdict}`;
  await tell(on, final, title, `It was closed ${how}. ${movementOf(final)}`, at);
  if (final.kpi === null) return;
  const moved = final.realised_delta === null ? "not fed since" : `${final.realised_delta} realised`;
  const text = `${named(change)}: ${final.verdict}; ${final.kpi} ${final.expected_delta_k ?? "nothing"} expected, ${moved}`;
  const memory = { kind: "outcome", text, at, ref: change_id } as const;
  const memories = await addMemory(on.tx, "outcome_memories", on.state.memories, memory, seqAt(on.position) + BEHIND);
  on.state = { ...on.state, memories };
}

/** Counts a change that is over, and keeps what is missing on its record. `final`: `null` when it was never applied. */
async function over(on: Following<State>, change: ToldChange, final: Outcome | null, at: string): Promise<void> {
  await bump(on, "closing_days", at, closingTally(change, final));
  on.state = { ...on.state, gaps: newestGaps(on.state.gaps, change, final, at) };
  await keepClosed(on, change.change_id);
}

async function keepClosed(on: Following<State>, change_id: string): Promise<void> {
  const { ring } = await push(on.tx, "closed", on.state.closed, () => change_id, { most: CLOSED_KEPT });
  on.state = { ...on.state, closed: ring };
}

async function tell(on: Following<State>, { change_id }: Outcome, title: string, detail: string, at: string) {
  const place = { position: on.position, tick: await on.tickAt(on.position) };
  const notice = { at, kind: "outcome", title, detail, ref: change_id };
  on.state = { ...on.state, rows: await addRow(on.tx, "outcome_rows", on.state.rows, place, notice) };
}

/** Expected and realised movement, in a sentence. */
export function movementOf({ kpi, expected_delta_k, realised_delta }: Outcome): string {
  if (kpi === null) return "The change names no KPI.";
  return `${kpi}: expected ${expected_delta_k ?? "nothing stated"}, realised ${realised_delta ?? "no feed since the apply"}.`;
}
