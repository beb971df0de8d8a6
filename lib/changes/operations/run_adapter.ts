/** Runs the adapter on operands (the change, or each entry of a plan). Steps have time limits; failures have the host's state. */
import { runWithTimeLimit, Unanswered } from "../../kit/time_limit.ts";
import type { AdapterResult, HostState, ProductAdapter, ReadRollbackFacts, ChangeWithStages } from "./adapter_port.ts";
import { tryReadStateInForce, groupOperands, isDone, isGone, readHostState, undoOnHost } from "./host_state.ts";
import { findDrift } from "./find_drift.ts";
import { findRolloutProblem, type Reading, TargetDrifted, TargetMoved } from "./adapter_port.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import type { ObservedValue } from "../rules/moved_value.ts";

/** A failed step, and the host's state after it. */
export interface HostFailure {
  /** `consent`: the content is not what was approved. */
  stage: "consent" | "validate" | "apply" | "verify" | "rollback" | "interrupted";
  error: string;
  /** Also `rolled_back` if the failed apply was undone. */
  host: HostState;
  /** True if the adapter rejected the change, as opposed to a fault. */
  rejected?: true;
  /** True if the host did not answer in time: the operation may still take effect. */
  unanswered?: true;
  /** True if the host's state was not known when the failure was recorded, and was reported later. */
  late?: true;
  /** True if the target holds a value of another program, so that a rollback wrote nothing. */
  drifted?: true;
}

/** The outcome of an operation on one operand. */
export interface OperandOutcome {
  operand: Change & ChangeWithStages;
  host: HostState;
  /** Present if the operation is done on this operand. */
  result?: AdapterResult;
  /** Present if the operation failed on this operand. */
  failure?: HostFailure;
  /** True if the target system was asked to write. */
  isTouched?: true;
}

/** The run of an operation. `drift` and `moved`: values of the target of `failed`, for the response only; they are not recorded. */
export type HostRun =
  | { ok: true; outcomes: readonly OperandOutcome[] }
  | {
      ok: false;
      outcomes: readonly OperandOutcome[];
      /** The operand that failed first, and why the operation failed. */
      failed: OperandOutcome;
      failure: HostFailure;
      drift?: TargetDrifted["values"];
      moved?: Reading;
    };

/** Returns true if a failed operation may have had an effect on the host. */
export const isUnresolved = ({ stage, host, drifted }: HostFailure): boolean =>
  host === "unknown" && !drifted && (stage === "apply" || stage === "verify" || stage === "rollback");

/** Options of an operation. */
export interface RunOptions {
  /**
   * Returns true while there is time for another step under the lease. After that, another process may take the operation over.
   */
  isInTime?: () => boolean;
  /** Returns true if a host that shows nothing of an operand counts as having rolled it back. */
  mayBeGone?: ((operand: Change) => boolean | undefined) | undefined;
  /** Reads facts of the log that the adapter compares before it restores a value. */
  readFacts?: ReadRollbackFacts | undefined;
  /** Lets a rollback restore over a value that another program set. */
  overDrift?: boolean | undefined;
  /** The only values that an apply may replace, as digests; any value at a location that is not listed. */
  expected?: readonly ObservedValue[] | undefined;
}

/**
 * Applies or rolls back operands. An apply validates all operands, sets them, and verifies them; if a step fails, the operands that
 * were set are rolled back in reverse order. A rollback goes in reverse order, and continues with other systems if one fails. An
 * operand whose host did not answer in time is not changed again, since the operation may still take effect.
 */
export const runOnHost = (
  adapter: ProductAdapter,
  operands: readonly (Change & ChangeWithStages)[],
  operation: Operation,
  options: RunOptions = {},
): Promise<HostRun> => {
  const outcomes = operands.map((operand): OperandOutcome => ({ operand, host: "unknown" }));
  const run = operation === "apply" ? applyOnHost : rollBackOnHost;
  return run(adapter, outcomes, { isInTime: () => true, ...options });
};

type TimedOptions = RunOptions & Required<Pick<RunOptions, "isInTime">>;

async function applyOnHost(
  adapter: ProductAdapter,
  outcomes: readonly OperandOutcome[],
  { isInTime, expected }: TimedOptions,
): Promise<HostRun> {
  for (const outcome of outcomes) {
    const failure = await findValidationFailure(adapter, outcome.operand);
    if (!failure) continue;
    await readAllStates(adapter, outcomes);
    return createFailedRun(outcomes, fail(outcome, failure));
  }
  const groups = groupOperands(adapter, outcomes);
  let failed: FailedOutcome | undefined;
  for (const group of groups) {
    const [first] = group as [OperandOutcome];
    if (!isInTime()) failed = fail(first, INTERRUPTED);
    else failed = await applyGroup(adapter, group, expected);
    if (failed) break;
  }
  failed ??= await verifyApplied(adapter, outcomes);
  if (!failed) return { ok: true, outcomes };
  for (const group of groups.reverse()) await undoGroup(adapter, group, isInTime);
  return createFailedRun(outcomes, failed);
}

/** Validates an operand; returns the failure if it cannot be applied. */
async function findValidationFailure(
  adapter: ProductAdapter,
  operand: Change & ChangeWithStages,
): Promise<Omit<HostFailure, "host"> | undefined> {
  try {
    const reason = findRolloutProblem(adapter, operand);
    const validation =
      reason === undefined
        ? await runWithTimeLimit((signal) => adapter.validate(operand, signal))
        : { ok: false as const, reason };
    return validation.ok ? undefined : { stage: "validate", error: validation.reason, rejected: true };
  } catch (error) {
    return { stage: "validate", error: formatError(error) };
  }
}

const INTERRUPTED = {
  stage: "interrupted",
  error: "the service was held up, and its time for this was over; ask for it again",
} as const;

/** Sets the values of a group; returns the outcome of the operand that failed. */
async function applyGroup(
  adapter: ProductAdapter,
  group: readonly OperandOutcome[],
  expected: RunOptions["expected"],
): Promise<FailedOutcome | undefined> {
  const operands = group.map(({ operand }) => operand);
  const digests = operands.map((operand) => listExpectedDigests(operand, expected));
  for (const outcome of group) outcome.isTouched = true;
  try {
    const results = await runWithTimeLimit(async (signal) =>
      group.length === 1
        ? [await adapter.apply(operands[0]!, signal, digests[0])]
        : adapter.applyAll!(operands, signal, digests),
    );
    group.forEach((outcome, index) => (outcome.result = results[index]!));
    return undefined;
  } catch (error) {
    return failGroup(group, "apply", error);
  }
}

/** Lists the digests of the only values that an apply of an operand may replace; undefined: any. */
function listExpectedDigests({ places }: Change, expected: RunOptions["expected"]): readonly string[] | undefined {
  const values = expected?.filter(({ place }) => !places || places.some((location) => location.place === place));
  return values && values.length > 0 ? values.map(({ digest }) => digest) : undefined;
}

/** Verifies that the host shows each operand as applied; returns the first failure. */
async function verifyApplied(
  adapter: ProductAdapter,
  outcomes: readonly OperandOutcome[],
): Promise<FailedOutcome | undefined> {
  await Promise.all(
    outcomes.map(async (outcome) => {
      outcome.host = (await tryReadStateInForce(adapter, outcome.operand)) ?? "unknown";
    }),
  );
  const notApplied = outcomes.filter(({ host }) => !isDone("apply", host));
  const failed = notApplied.map((outcome) =>
    fail(outcome, { stage: "verify", error: `after apply the host ${STATE_WORDS[outcome.host]}` }),
  );
  return failed[0];
}

/** Rolls back the operands of a group that a failed apply has set. */
async function undoGroup(
  adapter: ProductAdapter,
  group: readonly OperandOutcome[],
  isInTime: () => boolean,
): Promise<void> {
  await Promise.all(
    group.map(async (outcome) => {
      delete outcome.result;
      if (!outcome.failure?.unanswered) outcome.host = await readHostState(adapter, outcome.operand);
    }),
  );
  const stillSet = group.filter(({ host, failure, isTouched }) => isTouched && !failure?.unanswered && !isGone(host));
  if (stillSet.length === 0 || !isInTime()) return;
  const hosts = await undoOnHost(
    adapter,
    stillSet.map(({ operand }) => operand),
  );
  stillSet.forEach((outcome, index) => (outcome.host = hosts[index]!));
}

async function rollBackOnHost(
  adapter: ProductAdapter,
  outcomes: readonly OperandOutcome[],
  options: TimedOptions,
): Promise<HostRun> {
  const { isInTime, mayBeGone } = options;
  const drifted = await findDriftedOperand(adapter, outcomes, options);
  if (drifted) {
    await readAllStates(adapter, outcomes);
    return createFailedRun(outcomes, drifted);
  }
  for (const group of groupOperands(adapter, outcomes).reverse()) {
    if (isInTime()) await rollBackGroup(adapter, group, options);
    else for (const outcome of group) fail(outcome, INTERRUPTED);
    await Promise.all(group.map((outcome) => verifyRolledBack(adapter, outcome, mayBeGone)));
  }
  // Groups are rolled back in reverse order, so the last failure in the list came first.
  const failed = outcomes.findLast((outcome): outcome is FailedOutcome => outcome.failure !== undefined);
  return failed ? createFailedRun(outcomes, failed) : { ok: true, outcomes };
}

/**
 * Finds an operand of a plan whose target holds another program's value: then none of the operands is rolled back. The rollback
 * of a single operand finds drift itself.
 */
async function findDriftedOperand(
  adapter: ProductAdapter,
  outcomes: readonly OperandOutcome[],
  { overDrift, readFacts }: RunOptions,
): Promise<FailedOutcome | undefined> {
  if (outcomes.length === 1 || overDrift) return undefined;
  const drifts = await Promise.all(
    outcomes.map(({ operand }) =>
      runWithTimeLimit((signal) => findDrift(adapter, operand, signal, readFacts)).catch(() => undefined),
    ),
  );
  const failed = outcomes.flatMap((outcome, index) => {
    const drift = drifts[index];
    return drift ? failWithError(outcome, "rollback", new TargetDrifted(DRIFTED_MESSAGE, drift)) : [];
  });
  return failed[0];
}

/** Rolls back the operands of a group, one by one if that fails for all together. */
async function rollBackGroup(
  adapter: ProductAdapter,
  group: readonly OperandOutcome[],
  { isInTime, readFacts, overDrift }: TimedOptions,
): Promise<void> {
  const reversed = [...group].reverse();
  for (const outcome of reversed) outcome.isTouched = true;
  const operands = reversed.map(({ operand }) => operand);
  try {
    const results = await runWithTimeLimit(async (signal) =>
      group.length === 1
        ? [await adapter.rollback(operands[0]!, signal, readFacts, overDrift)]
        : adapter.rollbackAll!(operands, signal, readFacts, overDrift),
    );
    reversed.forEach((outcome, index) => (outcome.result = results[index]!));
  } catch (error) {
    if (group.length === 1 || error instanceof Unanswered || !isInTime()) failGroup(reversed, "rollback", error);
    else for (const outcome of reversed) await rollBackGroup(adapter, [outcome], { isInTime, readFacts, overDrift });
  }
}

async function verifyRolledBack(
  adapter: ProductAdapter,
  outcome: OperandOutcome,
  mayBeGone: RunOptions["mayBeGone"],
): Promise<void> {
  const { failure, operand } = outcome;
  if (failure?.unanswered || failure?.drifted) return;
  outcome.host = await readHostState(adapter, operand);
  if (failure || isDone("rollback", outcome.host, mayBeGone?.(operand))) return;
  delete outcome.result;
  const error = outcome.host === "absent" ? LOST_MESSAGE : `after rollback the host shows ${outcome.host}`;
  fail(outcome, { stage: "verify", error });
}

/** An operand on which an operation failed. */
export type FailedOutcome = OperandOutcome & { failure: HostFailure } & Partial<
    Pick<Extract<HostRun, { ok: false }>, "drift" | "moved">
  >;

const fail = (outcome: OperandOutcome, failure: Omit<HostFailure, "host">): FailedOutcome =>
  Object.assign(outcome, { failure: { ...failure, host: outcome.host } });

/** Adds the failure of an operation to the outcome of an operand; the values of its target are for the response only. */
function failWithError(outcome: OperandOutcome, stage: "apply" | "rollback", error: unknown): FailedOutcome {
  const failed = fail(outcome, {
    stage,
    error: formatError(error),
    ...(error instanceof Unanswered && { unanswered: true }),
    ...(error instanceof TargetDrifted && { drifted: true }),
  });
  if (error instanceof TargetDrifted) failed.drift = error.values;
  if (error instanceof TargetMoved) failed.moved = error.found;
  return failed;
}

/** Adds a failure to the outcome of the operand that the error names, or else to all of a group; returns the first of them. */
function failGroup(group: readonly OperandOutcome[], stage: "apply" | "rollback", error: unknown): FailedOutcome {
  const namedId = error instanceof TargetMoved || error instanceof TargetDrifted ? error.change_id : undefined;
  const named = group.find(({ operand }) => operand.change_id === namedId);
  return (named ? [named] : group).map((outcome) => failWithError(outcome, stage, error))[0]!;
}

async function readAllStates(adapter: ProductAdapter, outcomes: readonly OperandOutcome[]): Promise<void> {
  await Promise.all(
    outcomes.map(async (outcome) => {
      if (!outcome.failure?.drifted) outcome.host = await readHostState(adapter, outcome.operand);
    }),
  );
}

/** Creates the result of a failed operation; each failure gets the host's current state. */
function createFailedRun(outcomes: readonly OperandOutcome[], failed: FailedOutcome): HostRun {
  for (const outcome of outcomes) if (outcome.failure) outcome.failure = { ...outcome.failure, host: outcome.host };
  const { failure, drift, moved } = failed;
  const isPlan = outcomes.length > 1;
  const error = `${failed.operand.target}: ${failure.error}`;
  const summary = isPlan ? { ...failure, error, host: combineHosts(outcomes) } : failure;
  return { ok: false, outcomes, failed, failure: summary, ...(drift && { drift }), ...(moved && { moved }) };
}

/** Returns the worst of the host's states of operands. */
export const combineHosts = (outcomes: readonly { host: HostState }[]): HostState =>
  WORST_FIRST.find((state) => outcomes.some(({ host }) => host === state)) ?? "unknown";

const WORST_FIRST: readonly HostState[] = ["unknown", "applied", "absent", "rolled_back"];

const STATE_WORDS: Readonly<Record<HostState, string>> = {
  applied: "shows applied",
  rolled_back: "shows rolled_back",
  absent: "shows absent",
  unknown: "does not hold what the change sets",
};

const DRIFTED_MESSAGE = "the target holds neither what the change set nor what was there before";

const LOST_MESSAGE =
  "the host showed nothing of the change before the rollback and shows nothing after it, so nobody can say that what was there before is back; set that by hand, and have the host show the change as rolled_back";

/** Formats an error for an entry, cut to a bounded length. */
const formatError = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
