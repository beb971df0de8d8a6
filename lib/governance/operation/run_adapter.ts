/** Runs the adapter: each step has its time limit, and a failure says how the host was left. */
import { step, STEP_MS } from "../../kit/time_limit.ts";
import type { AdapterResult, HostState, ProductAdapter } from "../adapters/port.ts";
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
  /** The host had not said how it was left when the operation failed, and said so later. */
  late?: true;
}

export type HostRun = { ok: true; result: AdapterResult } | { ok: false; failure: HostFailure };

/** The moment up to which a step may begin, when it must have ended by `end`; milliseconds. */
export const lastStart = (end: number): number => end - STEP_MS;

/** Whether the host shows an operation as done; a rollback is also where nothing is left of the change. */
export const isDone = (operation: Operation, host: HostState): boolean =>
  operation === "apply" ? host === "applied" : host === "rolled_back" || host === "absent";

/** What the host shows of a change; undefined when it cannot be asked. */
export const askHost = (adapter: ProductAdapter, change: Change): Promise<HostState | undefined> =>
  step((signal) => adapter.verify(change, signal)).catch(() => undefined);

const stateOf = async (adapter: ProductAdapter, change: Change): Promise<HostState> =>
  (await askHost(adapter, change)) ?? "unknown";

/** Whether the host may hold something of a failed operation that the log calls failed. */
export const isUnsettled = ({ stage, host }: HostFailure): boolean =>
  host === "unknown" && (stage === "apply" || stage === "verify" || stage === "rollback");

/** Takes back on the host what it shows of a change, and says what it shows then. */
export async function undoOnHost(adapter: ProductAdapter, change: Change): Promise<HostState> {
  await step((signal) => adapter.rollback(change, signal)).catch(() => undefined);
  return stateOf(adapter, change);
}

/**
 * validate, apply, verify; when the apply or its verification fails, the adapter's rollback is tried. Or rollback, verify.
 * `inTime`: whether the host may still be changed. A process that was held up may find that its time is over and that
 * another has taken the operation up.
 */
export async function runOnHost(
  adapter: ProductAdapter,
  change: Change,
  operation: Operation,
  inTime: () => boolean = () => true,
): Promise<HostRun> {
  const look = (): Promise<HostState> => stateOf(adapter, change);
  const undo = async (): Promise<HostState> => {
    const host = await look();
    if (operation === "rollback" || isDone("rollback", host) || !inTime()) return host;
    return undoOnHost(adapter, change);
  };
  if (operation === "apply")
    try {
      const validation = await step((signal) => adapter.validate(change, signal));
      if (!validation.ok) return failed("validate", validation.reason, await look(), true);
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
    result = await step((signal) => adapter[operation](change, signal));
  } catch (error) {
    return failed(operation, textOf(error), await undo());
  }
  const host = await look();
  if (isDone(operation, host)) return { ok: true, result };
  return failed("verify", `after ${operation} the host shows ${host}`, operation === "apply" ? await undo() : host);
}

const failed = (stage: HostFailure["stage"], error: string, host: HostState, rejected?: true): HostRun => ({
  ok: false,
  failure: { stage, error, host, ...(rejected ? { rejected } : {}) },
});

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
