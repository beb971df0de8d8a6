/** Runs the adapter: each step has its time limit, and a failure says how the host was left. */
import { runWithTimeLimit, Unanswered } from "../../kit/time_limit.ts";
import type { AdapterResult, HostState, ProductAdapter, ReadRollbackFacts, Staged } from "./adapter_port.ts";
import { askInForce, groupOperands, isDone, isGone, readState, undoOnHost } from "./ask_host.ts";
import { findDrift } from "./find_drift.ts";
import { findRolloutProblem, type Reading, TargetDrifted, TargetMoved } from "./adapter_port.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import type { ObservedValue } from "../rules/moved_value.ts";

/** A step that failed, and what the host shows after it. */
export interface HostFailure {
  /** `consent`: what was approved is not what stands there. */
  stage: "consent" | "validate" | "apply" | "verify" | "rollback" | "interrupted";
  error: string;
  /** `rolled_back` also where the failed apply was undone. */
  host: HostState;
  /** The adapter said no, as against failed. */
  rejected?: true;
  /** The host did not answer in time: what it does not show may still come. */
  unanswered?: true;
  /** The host had not said how it was left when the operation failed, and said so later. */
  late?: true;
  /** The target holds a value of another program, so that a rollback wrote nothing. */
  drifted?: true;
}

/** How an operation left one operand. */
export interface OperandEnd {
  operand: Change & Staged;
  host: HostState;
  /** Present where the operation is done on it. */
  result?: AdapterResult;
  /** Why it failed here; absent where it failed on another operand alone. */
  failure?: HostFailure;
  /** Its target system was asked to write. */
  isTouched?: true;
}

/** `drift` and `moved`: the values of the target of `failed`, which are answered and not recorded. */
export type HostRun =
  | { ok: true; ends: readonly OperandEnd[] }
  | {
      ok: false;
      ends: readonly OperandEnd[];
      /** The operand that failed first, and why the operation failed. */
      failed: OperandEnd;
      failure: HostFailure;
      drift?: TargetDrifted["values"];
      moved?: Reading;
    };

/** Returns true where the host may hold something of a failed operation that the log calls failed. */
export const isUnresolved = ({ stage, host, drifted }: HostFailure): boolean =>
  host === "unknown" && !drifted && (stage === "apply" || stage === "verify" || stage === "rollback");

/** How an operation is run. */
export interface RunOptions {
  /**
   * Returns true while the host may still be changed. A process that was held up may find that its time is over and that another has taken
   * the operation up.
   */
  inTime?: () => boolean;
  /** Returns true where a host that shows nothing of an operand has rolled it back. */
  mayBeGone?: ((operand: Change) => boolean | undefined) | undefined;
  /** Reads what the log says of a rollback, for its adapter to compare before it restores a value. */
  readFacts?: ReadRollbackFacts | undefined;
  /** Lets a rollback restore over a value that another program set. */
  overDrift?: boolean | undefined;
  /** The values of places that an apply may replace, by their digests; of a place that is not listed any. */
  expected?: readonly ObservedValue[] | undefined;
}

/**
 * Applies or rolls back operands. An apply validates all, sets all, and verifies all; when a step fails, what was set is taken back
 * in reverse order. A rollback goes in reverse order, and a system that fails holds up no other. What the host did not answer in
 * time is left alone: it may still come.
 */
export const runOnHost = (
  adapter: ProductAdapter,
  operands: readonly (Change & Staged)[],
  operation: Operation,
  options: RunOptions = {},
): Promise<HostRun> => {
  const ends = operands.map((operand): OperandEnd => ({ operand, host: "unknown" }));
  return (operation === "apply" ? applyOnHost : rollBackOnHost)(adapter, ends, { inTime: () => true, ...options });
};

type TimedOptions = RunOptions & Required<Pick<RunOptions, "inTime">>;

async function applyOnHost(
  adapter: ProductAdapter,
  ends: readonly OperandEnd[],
  { inTime, expected }: TimedOptions,
): Promise<HostRun> {
  for (const end of ends) {
    const failure = await findInvalid(adapter, end.operand);
    if (!failure) continue;
    await lookAtAll(adapter, ends);
    return endFailed(ends, fail(end, failure));
  }
  const groups = groupOperands(adapter, ends);
  let failed: FailedEnd | undefined;
  for (const group of groups) {
    const [first] = group as [OperandEnd];
    if (!inTime()) failed = fail(first, INTERRUPTED);
    else failed = await applyGroup(adapter, group, expected);
    if (failed) break;
  }
  failed ??= await verifyApplied(adapter, ends);
  if (!failed) return { ok: true, ends };
  for (const group of groups.reverse()) await takeBack(adapter, group, inTime);
  return endFailed(ends, failed);
}

/** Validates an operand; returns why it cannot be applied. */
async function findInvalid(
  adapter: ProductAdapter,
  operand: Change & Staged,
): Promise<Omit<HostFailure, "host"> | undefined> {
  try {
    const reason = findRolloutProblem(adapter, operand);
    const validation =
      reason === undefined
        ? await runWithTimeLimit((signal) => adapter.validate(operand, signal))
        : { ok: false as const, reason };
    return validation.ok ? undefined : { stage: "validate", error: validation.reason, rejected: true };
  } catch (error) {
    return { stage: "validate", error: textOf(error) };
  }
}

const INTERRUPTED = {
  stage: "interrupted",
  error: "the service was held up, and its time for this was over; ask for it again",
} as const;

/** Sets the values of a group; returns the operand that failed. */
async function applyGroup(
  adapter: ProductAdapter,
  group: readonly OperandEnd[],
  expected: RunOptions["expected"],
): Promise<FailedEnd | undefined> {
  const operands = group.map(({ operand }) => operand);
  const digests = operands.map((operand) => listExpected(operand, expected));
  for (const end of group) end.isTouched = true;
  try {
    const results = await runWithTimeLimit(async (signal) =>
      group.length === 1
        ? [await adapter.apply(operands[0]!, signal, digests[0])]
        : adapter.applyAll!(operands, signal, digests),
    );
    group.forEach((end, index) => (end.result = results[index]!));
    return undefined;
  } catch (error) {
    return failGroup(group, "apply", error);
  }
}

/** Lists the digests of the only values that an apply of an operand may replace; undefined: any. */
function listExpected({ places }: Change, expected: RunOptions["expected"]): readonly string[] | undefined {
  const own = expected?.filter(({ place }) => !places || places.some((one) => one.place === place));
  return own && own.length > 0 ? own.map(({ digest }) => digest) : undefined;
}

async function verifyApplied(adapter: ProductAdapter, ends: readonly OperandEnd[]): Promise<FailedEnd | undefined> {
  await Promise.all(
    ends.map(async (end) => {
      end.host = (await askInForce(adapter, end.operand)) ?? "unknown";
    }),
  );
  const left = ends.filter(({ host }) => !isDone("apply", host));
  const failed = left.map((end) => fail(end, { stage: "verify", error: `after apply the host ${HOLDS[end.host]}` }));
  return failed[0];
}

/** Takes back what a failed apply set of a group. */
async function takeBack(adapter: ProductAdapter, group: readonly OperandEnd[], inTime: () => boolean): Promise<void> {
  await Promise.all(
    group.map(async (end) => {
      delete end.result;
      if (!end.failure?.unanswered) end.host = await readState(adapter, end.operand);
    }),
  );
  const left = group.filter(({ host, failure, isTouched }) => isTouched && !failure?.unanswered && !isGone(host));
  if (left.length === 0 || !inTime()) return;
  const hosts = await undoOnHost(
    adapter,
    left.map(({ operand }) => operand),
  );
  left.forEach((end, index) => (end.host = hosts[index]!));
}

async function rollBackOnHost(
  adapter: ProductAdapter,
  ends: readonly OperandEnd[],
  options: TimedOptions,
): Promise<HostRun> {
  const { inTime, mayBeGone } = options;
  const drifted = await findDrifted(adapter, ends, options);
  if (drifted) {
    await lookAtAll(adapter, ends);
    return endFailed(ends, drifted);
  }
  for (const group of groupOperands(adapter, ends).reverse()) {
    if (inTime()) await rollBackGroup(adapter, group, options);
    else for (const end of group) fail(end, INTERRUPTED);
    await Promise.all(group.map((end) => verifyRolledBack(adapter, end, mayBeGone)));
  }
  const failed = ends.findLast((end): end is FailedEnd => end.failure !== undefined);
  return failed ? endFailed(ends, failed) : { ok: true, ends };
}

/** One operand whose target holds the value of another program refuses the rollback of all. */
async function findDrifted(
  adapter: ProductAdapter,
  ends: readonly OperandEnd[],
  { overDrift, readFacts }: RunOptions,
): Promise<FailedEnd | undefined> {
  if (ends.length === 1 || overDrift) return undefined;
  const drifts = await Promise.all(
    ends.map(({ operand }) =>
      runWithTimeLimit((signal) => findDrift(adapter, operand, signal, readFacts)).catch(() => undefined),
    ),
  );
  const failed = ends.flatMap((end, index) => {
    const drift = drifts[index];
    return drift ? failFor(end, "rollback", new TargetDrifted(DRIFTED, drift)) : [];
  });
  return failed[0];
}

/** Rolls back the operands of a group; what cannot be rolled back together is rolled back one by one. */
async function rollBackGroup(
  adapter: ProductAdapter,
  group: readonly OperandEnd[],
  { inTime, readFacts, overDrift }: TimedOptions,
): Promise<void> {
  const reversed = [...group].reverse();
  for (const end of reversed) end.isTouched = true;
  const operands = reversed.map(({ operand }) => operand);
  try {
    const results = await runWithTimeLimit(async (signal) =>
      group.length === 1
        ? [await adapter.rollback(operands[0]!, signal, readFacts, overDrift)]
        : adapter.rollbackAll!(operands, signal, readFacts, overDrift),
    );
    reversed.forEach((end, index) => (end.result = results[index]!));
  } catch (error) {
    if (group.length === 1 || error instanceof Unanswered || !inTime()) failGroup(reversed, "rollback", error);
    else for (const end of reversed) await rollBackGroup(adapter, [end], { inTime, readFacts, overDrift });
  }
}

async function verifyRolledBack(
  adapter: ProductAdapter,
  end: OperandEnd,
  mayBeGone: RunOptions["mayBeGone"],
): Promise<void> {
  const { failure, operand } = end;
  if (failure?.unanswered || failure?.drifted) return;
  end.host = await readState(adapter, operand);
  if (failure || isDone("rollback", end.host, mayBeGone?.(operand))) return;
  delete end.result;
  const error = end.host === "absent" ? LOST : `after rollback the host shows ${end.host}`;
  fail(end, { stage: "verify", error });
}

/** An operand on which an operation failed. */
export type FailedEnd = OperandEnd & { failure: HostFailure } & Partial<
    Pick<Extract<HostRun, { ok: false }>, "drift" | "moved">
  >;

const fail = (end: OperandEnd, failure: Omit<HostFailure, "host">): FailedEnd =>
  Object.assign(end, { failure: { ...failure, host: end.host } });

/** Notes why an operation failed on an operand; the values of its target are for the answer alone. */
function failFor(end: OperandEnd, stage: "apply" | "rollback", error: unknown): FailedEnd {
  const failed = fail(end, {
    stage,
    error: textOf(error),
    ...(error instanceof Unanswered && { unanswered: true }),
    ...(error instanceof TargetDrifted && { drifted: true }),
  });
  if (error instanceof TargetDrifted) failed.drift = error.values;
  if (error instanceof TargetMoved) failed.moved = error.found;
  return failed;
}

/** Notes why an operation failed on a group, and returns the operand that the error names, or the first. */
function failGroup(group: readonly OperandEnd[], stage: "apply" | "rollback", error: unknown): FailedEnd {
  const named = error instanceof TargetMoved || error instanceof TargetDrifted ? error.change_id : undefined;
  const own = group.find(({ operand }) => operand.change_id === named);
  return (own ? [own] : group).map((end) => failFor(end, stage, error))[0]!;
}

async function lookAtAll(adapter: ProductAdapter, ends: readonly OperandEnd[]): Promise<void> {
  await Promise.all(
    ends.map(async (end) => {
      if (!end.failure?.drifted) end.host = await readState(adapter, end.operand);
    }),
  );
}

/** Ends a failed operation: each failure says how the host is left now. */
function endFailed(ends: readonly OperandEnd[], failed: FailedEnd): HostRun {
  for (const end of ends) if (end.failure) end.failure = { ...end.failure, host: end.host };
  const { failure, drift, moved } = failed;
  const [isPlan, { target }] = [ends.length > 1, failed.operand];
  const summary = isPlan ? { ...failure, error: `${target}: ${failure.error}`, host: combineHosts(ends) } : failure;
  return { ok: false, ends, failed, failure: summary, ...(drift && { drift }), ...(moved && { moved }) };
}

/** Returns the worst of how operands were left. */
export const combineHosts = (ends: readonly { host: HostState }[]): HostState =>
  WORST_FIRST.find((state) => ends.some(({ host }) => host === state)) ?? "unknown";

const WORST_FIRST: readonly HostState[] = ["unknown", "applied", "absent", "rolled_back"];

const HOLDS: Readonly<Record<HostState, string>> = {
  applied: "shows applied",
  rolled_back: "shows rolled_back",
  absent: "shows absent",
  unknown: "does not hold what the change sets",
};

const DRIFTED = "the target holds neither what the change set nor what was there before";

const LOST =
  "the host showed nothing of the change before the rollback and shows nothing after it, so nobody can say that what was there before is back; set that by hand, and have the host show the change as rolled_back";

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
