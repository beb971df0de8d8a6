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
import { type Changed, movementOf, NOTHING_CHANGED, rowOf, withChange } from "./changed_verdicts.ts";
import { type FollowDeps, type Follower, type Following, MOST_A_STEP, type ToldChange } from "./follower.ts";
import type { Entry } from "./entries.ts";
import { addRow, type Notice } from "./growth_row.ts";
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
  /** While a feed is judged: the KPIs before it, and what it has changed so far. */
  judging?: { before: KpiState; changed: Changed };
}

const CLOSED_KEPT = 10_000;
const PAGE = 50;
/** Open outcomes are judged a thousand at a time, so that other work gets its turn. */
const PAGES_A_STEP = 20;
/** What a row writes at most. */
const ROW_WRITES = 4;
/** Rows and memories of outcomes stand behind those of the entry itself. */
const BEHIND = 100_000;
const EMPTY = { seq: 0, count: 0 };

export const outcomes: Follower<State> = {
  name: "outcomes",
  version: 2,
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
      case "content_erased":
        return forget(on, entry.change_id, step);
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

/**
 * Takes a feed in, and tells each open outcome's first verdict. Those that had one and change with this feed are told of
 * together: a KPI that goes up and down would otherwise fill the growth log and the disk with the same changes.
 */
async function judge(on: Following<State>, { id, timestamp: at, facts }: Entry, step: string): Promise<string | void> {
  const fed = facts.values ?? {};
  if (step === "") {
    const before = on.state.kpis;
    const kpis = feed(before, fed, at, id);
    on.state = { ...on.state, kpis, judging: { before, changed: NOTHING_CHANGED } };
    on.tx.put("kpi_days", at.slice(0, 10), { at, values: kpis.values });
  }
  const { before } = on.state.judging!;
  const intent = await on.intentOf(on.state.manifest);
  let after = step;
  for (let pages = 0; ; pages++) {
    if (pages === PAGES_A_STEP) return after;
    const page = await on.tx.list("outcomes_open", { after, limit: PAGE });
    const places = page.flatMap(({ id, value: { kpi } }) => (kpi !== null && Object.hasOwn(fed, kpi) ? id : []));
    const records = await on.tx.getMany("outcomes", places.map(changeAt));
    for (const [index, place] of places.entries()) {
      const was = outcomeOf(records[index]!.value, before, intent, at);
      const outcome = outcomeOf(records[index]!.value, on.state.kpis, intent, at);
      if (outcome.verdict !== "inconclusive" && outcome.verdict !== was.verdict) {
        if (!on.room(ROW_WRITES)) return after;
        if (was.realised_delta === null)
          await tell(on, outcome, `The first verdict on ${outcome.change_id} is ${outcome.verdict}`, at);
        else {
          const changed = withChange(on.state.judging!.changed, was.verdict, outcome);
          on.state = { ...on.state, judging: { before, changed } };
        }
        on.state = { ...on.state, verdicts: on.state.verdicts + 1 };
      }
      after = place;
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!.id;
  }
  if (!on.room(ROW_WRITES)) return after;
  const { judging, ...state } = on.state;
  on.state = state;
  const row = rowOf(judging!.changed, at);
  if (row) await addOutcomeRow(on, row);
}

async function rolledBack(on: Following<State>, { change_id, timestamp }: Entry): Promise<void> {
  const record = (await on.tx.get("outcomes", change_id))?.value;
  if (record && !record.final) return close(on, record, "rollback", timestamp);
  // Its time had closed it already; it is told of once more, not counted.
  return keepClosed(on, change_id);
}

/** Forgets what was told of a change whose content is erased, for it names the change by that. */
async function forget(on: Following<State>, changeId: string, step: string): Promise<string | void> {
  if (!(await on.tx.get("outcomes", changeId))) return undefined;
  for (let after = step; ;) {
    const page = await on.tx.list("outcome_memories", { after, limit: PAGE });
    for (const { id, value } of page) {
      if (value.ref === changeId) {
        if (!on.room(1)) return after;
        on.tx.delete("outcome_memories", id);
        const { memories } = on.state;
        on.state = { ...on.state, memories: { ...memories, count: memories.count - 1 } };
      }
      after = id;
    }
    if (page.length < PAGE) return undefined;
  }
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
  await tell(on, final, title, at, `It was closed ${how}. `);
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

const tell = (on: Following<State>, outcome: Outcome, title: string, at: string, how = ""): Promise<void> =>
  addOutcomeRow(on, { at, title, detail: `${how}${movementOf(outcome)}`, ref: outcome.change_id });

async function addOutcomeRow(on: Following<State>, row: Omit<Notice, "kind">): Promise<void> {
  const place = { position: on.position, tick: await on.tickAt(on.position) };
  const rows = await addRow(on.tx, "outcome_rows", on.state.rows, place, { kind: "outcome", ...row });
  on.state = { ...on.state, rows };
}
