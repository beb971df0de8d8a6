/** Stores samples of a rollout: the newest totals for each step and KPI. */
import { AppError, invalidField } from "../../kit/errors.ts";
import { findFormProblem, findImpossibleCell, type ArmMaximums, type SampleRow } from "../../rollout/samples.ts";
import type { Caller } from "../caller.ts";
import type { Result } from "../replies.ts";
import type { Change } from "../rules/change.ts";
import type { Actor } from "../rules/actor.ts";
import { normalizeName } from "../rules/names.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { requireRollout } from "../rules/require_rollout.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { readSamples, type StoredRow } from "../rollouts/samples.ts";

/** Rows of samples of one change. */
export interface SampleFeed {
  change_id: string;
  rows: readonly SampleRow[];
}

/** Accepted samples; they have no entry of their own. */
export interface SampleResult extends Result {
  entry: null;
  change_id: string;
  accepted: number;
  step: number;
}

/** Maximum lead of `as_of` over the service's clock. */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * Stores all rows or none, and requests a cycle, which judges the rollout. Errors: 403 `agent_may_not`, 400 `illegal_transition`,
 * `invalid_field`, `impossible_sample`, which is recorded and holds the rollout.
 */
export async function feedSamples(caller: Caller, { change_id, rows }: SampleFeed): Promise<SampleResult> {
  const { deps } = caller;
  try {
    return await runTransaction({ deps }, async (transaction): Promise<SampleResult | AppError> => {
      const record = await transaction.change(change_id);
      const { change } = record;
      const by = requireFeeder(caller, change);
      const { intent } = transaction.product;
      // No rollout is at step -1, so this throws the error of a change that is not being rolled out.
      if (!isRollingOut(change)) requireRollout(change, -1, intent);
      const storedRows = new Map((await readSamples(transaction.tx, change_id)).map((row) => [rowKey(row), row]));
      const fedKeys = new Set<string>();
      const impossible: { index: number; problem: string }[] = [];
      for (const [index, row] of rows.entries()) {
        const key = rowKey(row);
        if (fedKeys.has(key)) throw invalidRow(index, "repeats a step and KPI");
        fedKeys.add(key);
        const problem = findImpossibility(transaction, change, row, { index, storedRow: storedRows.get(key) });
        if (problem !== undefined) impossible.push({ index, problem });
      }
      const { step } = change.exposure!;
      const at = new Date(transaction.now).toISOString();
      if (impossible.length > 0) {
        for (const { index, problem } of impossible) {
          const row = rows[index]!;
          const stored = storedRows.get(rowKey(row)) ?? createEmptyRow(row, { at, by });
          storedRows.set(rowKey(row), { ...stored, impossible: problem });
        }
        saveRows(transaction, change_id, storedRows);
        return rejectImpossible(transaction, record, { rows, impossible, by });
      }
      for (const row of rows) {
        const largest = updateLargest(storedRows.get(rowKey(row))?.largest, row);
        const { kpi, as_of, treated, control } = row;
        storedRows.set(rowKey(row), { step: row.step, kpi, as_of, at, by, treated, control, largest });
      }
      saveRows(transaction, change_id, storedRows);
      return { entry: null, change_id, accepted: rows.length, step };
    });
  } finally {
    deps.wake?.();
  }
}

const rowKey = ({ step, kpi }: Pick<SampleRow, "step" | "kpi">): string => `${step} ${kpi}`;

const invalidRow = (index: number, message: string): AppError => invalidField(`rows.${index}`, message);

/** Requires the secret of the agent that feeds the rollout (403 `agent_may_not`). */
function requireFeeder({ identity }: Caller, { stages, change_id }: Change): string {
  const { agent } = identity ?? {};
  if (agent !== undefined && stages && normalizeName(agent) === normalizeName(stages.fed_by)) return agent;
  const feeder = stages
    ? `only ${stages.fed_by} feeds samples of ${change_id}`
    : `${change_id} is not rolled out in steps`;
  throw new AppError("agent_may_not", `${feeder}, with its own secret as Authorization: Bearer`, { change_id });
}

/** Explains why the numbers of a row are impossible. Errors: 400 `invalid_field` for a row that does not fit the rollout. */
function findImpossibility(
  { now }: Transaction,
  { exposure, stages }: Change,
  row: SampleRow,
  { index, storedRow }: { index: number; storedRow: StoredRow | undefined },
): string | undefined {
  const { step, kpi, as_of } = row;
  if (step > exposure!.step)
    throw invalidRow(index, `is of step ${step}, but the rollout is at step ${exposure!.step}`);
  const watched = stages!.watch.find((watchedKpi) => watchedKpi.kpi === kpi);
  if (!watched) throw invalidRow(index, `is of ${kpi}, which the rollout does not watch`);
  for (const arm of ["treated", "control"] as const) {
    const problem = findFormProblem(watched, row[arm]);
    if (problem !== undefined) throw invalidRow(index, `${arm} ${problem}`);
  }
  if (Date.parse(as_of) > now + MAX_AHEAD_MS) throw invalidRow(index, "as_of is more than five minutes ahead");
  if (storedRow && isFed(storedRow) && Date.parse(as_of) < Date.parse(storedRow.as_of))
    throw invalidRow(index, `as_of is before ${storedRow.as_of}, of which totals were fed already`);
  return findImpossibleCell(watched, row, storedRow?.largest);
}

const NO_SAMPLES = { n: 0, sum: 0 };

/** Creates a row without totals, for a step and KPI that so far had only impossible numbers. */
const createEmptyRow = ({ step, kpi, as_of }: SampleRow, source: { at: string; by: string }): StoredRow => ({
  step,
  kpi,
  as_of,
  ...source,
  treated: NO_SAMPLES,
  control: NO_SAMPLES,
  largest: { treated: 0, control: 0 },
});

/** Returns true for a row that has valid totals. */
const isFed = ({ impossible, largest }: StoredRow): boolean =>
  impossible === undefined || largest.treated + largest.control > 0;

const updateLargest = (largest: ArmMaximums | undefined, { treated, control }: SampleRow): ArmMaximums => ({
  treated: Math.max(largest?.treated ?? 0, treated.n),
  control: Math.max(largest?.control ?? 0, control.n),
});

function saveRows({ tx }: Transaction, changeId: string, rows: ReadonlyMap<string, StoredRow>): void {
  const sorted = [...rows.values()].sort((a, b) => a.step - b.step || (a.kpi < b.kpi ? -1 : 1));
  tx.put("samples", changeId, { rows: sorted });
}

/** Rejects impossible numbers, and holds the rollout with an entry unless it is on hold already. */
function rejectImpossible(
  transaction: Transaction,
  record: ChangeRecord,
  feed: { rows: readonly SampleRow[]; impossible: readonly { index: number; problem: string }[]; by: string },
): AppError {
  const { rows, impossible, by } = feed;
  const { change, rollout } = record;
  const { change_id, exposure } = change;
  const { step, waits_for } = exposure!;
  const [first] = impossible;
  const { kpi, step: at_step, ...numbers } = rows[first!.index]!;
  const isOnHold = waits_for === "impossible_data" || waits_for === "mismatch" || rollout!.stopped !== undefined;
  if (!isOnHold) {
    const rejected = { ...numbers, by };
    const circumstance = { decision: "hold", reason: "impossible_data", kpi, at_step, error: first!.problem, rejected };
    const actor: Actor = { actor: by, authenticated: "agent" };
    transaction.execute(record, { type: "stage", event: "held", step, circumstance }, actor);
  }
  const fields = impossible.map(({ index, problem }) => ({ field: `rows.${index}`, message: problem }));
  return new AppError(
    "impossible_sample",
    `${kpi} of step ${at_step}: ${first!.problem}; no row of this feed was stored, and the rollout is on hold until possible numbers are fed`,
    { change_id, fields },
  );
}
