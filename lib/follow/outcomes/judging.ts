/** Verdicts on open outcomes: when their horizon is over, and at each feed after that. */
import { feed } from "../../governance/rules/kpi.ts";
import { closesAt, isJudged, type Outcome, outcomeOf, type OutcomeRecord } from "../../governance/rules/outcome.ts";
import { NOTHING_CHANGED, rowOf, withChange } from "../changed_verdicts.ts";
import type { Entry } from "../entries.ts";
import type { Following } from "../follower.ts";
import { appliedAt, dueKey, placesOf } from "../outcome_places.ts";
import { findDue, measured, type State } from "./state.ts";
import { addOutcomeRow, ROW_WRITES, tell } from "./telling.ts";
import { MEMORY_WRITES, rememberVerdict } from "./verdict_memory.ts";

const PAGE = 50;
/** Open outcomes are judged a thousand at a time, so that other work gets its turn. */
const PAGES_A_STEP = 20;

/** The horizon of an outcome is over: what was measured by then is judged, where anything was. */
export async function judgeFirst(on: Following<State>, record: OutcomeRecord, at: string): Promise<void> {
  const { change_id, applied_at } = record;
  on.tx.delete("outcomes_due", dueKey(at, change_id));
  on.tx.put("outcomes_due", dueKey(closesAt(applied_at), change_id), true);
  await findDue(on);
  const outcome = outcomeOf(record, await measured(on), at);
  if (isJudged(outcome)) await tellFirst(on, record, outcome, at);
}

async function tellFirst(on: Following<State>, record: OutcomeRecord, outcome: Outcome, at: string): Promise<void> {
  await rememberVerdict(on, record, outcome, at);
  await tell(on, outcome, `The first verdict on ${outcome.change_id} is ${outcome.verdict}`, at);
  on.state = { ...on.state, verdicts: on.state.verdicts + 1 };
}

/**
 * Takes a feed in, and tells the first verdict on each open outcome that had none when its horizon was over. Those that had
 * one and change with this feed are told of together: a KPI that goes up and down would otherwise fill the growth log and the
 * disk with the same changes.
 */
export async function judge(
  on: Following<State>,
  { id, timestamp: at, facts }: Entry,
  step: string,
): Promise<string | void> {
  const fed = facts.values ?? {};
  if (step === "") {
    const before = on.state.kpis;
    const kpis = feed(before, fed, at, id);
    on.state = { ...on.state, kpis, judging: { before, changed: NOTHING_CHANGED } };
    on.tx.put("kpi_days", at.slice(0, 10), { at, values: kpis.values });
  }
  const { before } = on.state.judging!;
  const now = await measured(on);
  let after = step;
  let pages = 0;
  for (const kpi of Object.keys(fed).sort()) {
    const prefix = placesOf(kpi, "open");
    if (after > prefix && !after.startsWith(prefix)) continue;
    for (let more = true; more; pages++) {
      if (pages === PAGES_A_STEP) return after;
      const page = await on.tx.list("outcomes_by_kpi", { prefix, after: after > prefix ? after : prefix, limit: PAGE });
      // The others are judged when their horizon is over.
      const due = page.filter(({ value: { judged_from } }) => judged_from! < at);
      const records = await on.tx.getMany(
        "outcomes",
        due.map(({ id: place }) => appliedAt(place).change_id),
      );
      for (const [index, { id: place }] of due.entries()) {
        const record = records[index]!.value;
        const was = outcomeOf(record, { ...now, kpis: before }, at);
        const outcome = outcomeOf(record, now, at);
        if (outcome.verdict !== "inconclusive" && outcome.verdict !== was.verdict) {
          if (!on.room(ROW_WRITES + MEMORY_WRITES)) return after;
          if (was.realised_delta === null) await tellFirst(on, record, outcome, at);
          else {
            const { changed: soFar } = on.state.judging!;
            const changed = withChange(soFar, was.verdict, outcome);
            // As many are remembered one by one as are named in the row.
            if (changed.named.length > soFar.named.length) await rememberVerdict(on, record, outcome, at);
            on.state = { ...on.state, judging: { before, changed }, verdicts: on.state.verdicts + 1 };
          }
        }
        after = place;
      }
      more = page.length === PAGE;
      after = page.at(-1)?.id ?? after;
    }
  }
  if (!on.room(ROW_WRITES)) return after;
  const { judging, ...state } = on.state;
  on.state = state;
  const row = rowOf(judging!.changed, at);
  if (row) await addOutcomeRow(on, row);
}
