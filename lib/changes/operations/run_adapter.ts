/** Runs the adapter: each step has its time limit, and a failure says how the host was left. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { step, STEP_MS, Unanswered } from "../../kit/time_limit.ts";
import type { AdapterResult, HostState, ProductAdapter, ReadRollbackFacts, Staged } from "./adapter_port.ts";
import { findRolloutProblem, type Reading, TargetDrifted, TargetMoved } from "./adapter_port.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";

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

/** `drift` and `moved`: the values of the target, which are answered and not recorded. */
export type HostRun =
  | { ok: true; result: AdapterResult }
  | { ok: false; failure: HostFailure; drift?: TargetDrifted["values"]; moved?: Reading };

/** Returns the name of the system that carries a change. */
export const nameSystem = ({ name }: ProductAdapter, { places }: Change): string => places?.[0]?.system ?? name;

/** The moment up to which a step may begin, when it must have ended by `end`; milliseconds. */
export const lastStart = (end: number): number => end - STEP_MS;

/** Whether the host shows nothing of a change, or shows it as taken back. */
export const isGone = (host: HostState | undefined): boolean => host === "rolled_back" || host === "absent";

/**
 * Whether the host shows an operation as done. A host that shows nothing of a change may have lost it, and what was there
 * before with it: `mayBeGone` where that is no wonder.
 */
export function isDone(operation: Operation, host: HostState, mayBeGone = false): boolean {
  if (operation === "apply") return host === "applied";
  return host === "rolled_back" || (host === "absent" && mayBeGone);
}

/** What the host shows of a change; undefined when it cannot be asked. */
export const askHost = (adapter: ProductAdapter, change: Change): Promise<HostState | undefined> =>
  step((signal) => adapter.verify(change, signal)).catch(() => undefined);

/** What a change's target holds on the host; undefined when the adapter cannot say. */
export async function askHeld(adapter: ProductAdapter, change: Change): Promise<{ value: unknown } | null | undefined> {
  const held = await step(async (signal) => adapter.held?.(change, signal)).catch(() => undefined);
  return held && held.value === undefined ? undefined : held;
}

/**
 * Returns what the host shows of a change that should be in force: `unknown` where its target holds another value than the
 * change sets, whoever put it there, and `absent` where it holds nothing; undefined when it cannot be asked. An adapter may show a change as applied because it was
 * applied once: after a restore of an older backup the host knows changes that the log does not.
 */
export async function askInForce(adapter: ProductAdapter, change: Change & Staged): Promise<HostState | undefined> {
  const host = await askHost(adapter, change);
  // The split of a rollout is compared by the adapter alone.
  if (host !== "applied" || change.value === undefined || change.stages) return host;
  const held = await askHeld(adapter, change);
  if (held === null) return "absent";
  return held === undefined || isValue(held, change) ? host : "unknown";
}

/** Whether a target holds what a change sets; what is no JSON is something else. */
function isValue(held: { value: unknown }, change: Change): boolean {
  try {
    return canonicalJson(held.value) === canonicalJson(change.value);
  } catch {
    return false;
  }
}

const stateOf = async (adapter: ProductAdapter, change: Change): Promise<HostState> =>
  (await askHost(adapter, change)) ?? "unknown";

/** Whether the host may hold something of a failed operation that the log calls failed. */
export const isUnresolved = ({ stage, host, drifted }: HostFailure): boolean =>
  host === "unknown" && !drifted && (stage === "apply" || stage === "verify" || stage === "rollback");

/** Takes back on the host what it shows of a change, and says what it shows then. */
export async function undoOnHost(adapter: ProductAdapter, change: Change): Promise<HostState> {
  await step((signal) => adapter.rollback(change, signal)).catch(() => undefined);
  return stateOf(adapter, change);
}

/** How an operation is run. */
export interface RunOptions {
  /**
   * Whether the host may still be changed. A process that was held up may find that its time is over and that another has taken
   * the operation up.
   */
  inTime?: () => boolean;
  /** Whether a host that shows nothing of the change has rolled it back. */
  mayBeGone?: boolean | undefined;
  /** What a rollback's adapter holds against the log, before it puts it back. */
  readFacts?: ReadRollbackFacts | undefined;
  /** Lets a rollback restore over a value that another program set. */
  overDrift?: boolean | undefined;
  /** The digests of the only values that an apply may replace. */
  expected?: readonly string[] | undefined;
}

/**
 * validate, apply, verify; when the apply or its verification fails, the adapter's rollback is tried. Or rollback, verify. What
 * the host did not answer in time is left alone: it may still come.
 */
export async function runOnHost(
  adapter: ProductAdapter,
  change: Change & Staged,
  operation: Operation,
  { inTime = () => true, mayBeGone, readFacts, overDrift, expected }: RunOptions = {},
): Promise<HostRun> {
  const look = (): Promise<HostState> => stateOf(adapter, change);
  const undo = async (): Promise<HostState> => {
    const host = await look();
    if (operation === "rollback" || isGone(host) || !inTime()) return host;
    return undoOnHost(adapter, change);
  };
  if (operation === "apply")
    try {
      const reason = findRolloutProblem(adapter, change);
      const validation =
        reason === undefined
          ? await step((signal) => adapter.validate(change, signal))
          : { ok: false as const, reason };
      if (!validation.ok) return failed("validate", validation.reason, await look(), { rejected: true });
    } catch (error) {
      return failed("validate", textOf(error), await look());
    }
  if (!inTime())
    return failed(
      "interrupted",
      "the service was held up, and its time for this was over; ask for it again",
      await look(),
    );
  let result: AdapterResult;
  try {
    result = await step((signal) =>
      operation === "apply"
        ? adapter.apply(change, signal, expected)
        : adapter.rollback(change, signal, readFacts, overDrift),
    );
  } catch (error) {
    if (error instanceof Unanswered) return failed(operation, textOf(error), "unknown", { unanswered: true });
    if (error instanceof TargetDrifted)
      return { ...failed(operation, textOf(error), "unknown", { drifted: true }), drift: error.values };
    const failure = failed(operation, textOf(error), await undo());
    return error instanceof TargetMoved ? { ...failure, moved: error.found } : failure;
  }
  const host = operation === "apply" ? ((await askInForce(adapter, change)) ?? "unknown") : await look();
  if (isDone(operation, host, mayBeGone)) return { ok: true, result };
  if (operation === "apply") return failed("verify", `after apply the host ${HOLDS[host]}`, await undo());
  return failed("verify", host === "absent" ? LOST : `after rollback the host shows ${host}`, host);
}

const HOLDS: Readonly<Record<HostState, string>> = {
  applied: "shows applied",
  rolled_back: "shows rolled_back",
  absent: "shows absent",
  unknown: "does not hold what the change sets",
};

const LOST =
  "the host showed nothing of the change before the rollback and shows nothing after it, so nobody can say that what was there before is back; set that by hand, and have the host show the change as rolled_back";

const failed = (
  stage: HostFailure["stage"],
  error: string,
  host: HostState,
  more: Pick<HostFailure, "rejected" | "unanswered" | "drifted"> = {},
): Extract<HostRun, { ok: false }> => ({ ok: false, failure: { stage, error, host, ...more } });

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
