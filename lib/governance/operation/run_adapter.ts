/** Runs the adapter: each step has its time limit, and a failure says how the host was left. */
import { step, STEP_MS } from "../../kit/time_limit.ts";
import type { AdapterResult, HostState, ProductAdapter } from "../adapters/port.ts";
import type { Change } from "../rules/change.ts";

/** A step that failed, and what the host shows after it. */
export interface HostFailure {
  /** `consent`: what was approved is not what stands there. */
  stage: "consent" | "validate" | "apply" | "verify" | "rollback" | "interrupted";
  error: string;
  /** `rolled_back` also where the failed apply was undone. */
  host: HostState;
  /** The adapter said no, as against failed. */
  rejected?: true;
}

export type HostRun = { ok: true; result: AdapterResult } | { ok: false; failure: HostFailure };

/**
 * Whether the host may still be changed: a process that was held up may find that its time is over and that another has
 * taken the operation up.
 */
export type InTime = () => boolean;

/** The moment up to which a step may begin, when it must have ended by `end`; milliseconds. */
export const lastStart = (end: number): number => end - STEP_MS;

/** validate, apply, verify; when the apply or its verification fails, the adapter's rollback is tried. */
export async function applyToHost(
  adapter: ProductAdapter,
  change: Change,
  inTime: InTime = () => true,
): Promise<HostRun> {
  try {
    const validation = await step((signal) => adapter.validate(change, signal));
    if (!validation.ok) return failed("validate", validation.reason, await stateOf(adapter, change), true);
  } catch (error) {
    return failed("validate", textOf(error), await stateOf(adapter, change));
  }
  if (!inTime()) return heldUp(adapter, change);
  let result: AdapterResult;
  try {
    result = await step((signal) => adapter.apply(change, signal));
  } catch (error) {
    return failed("apply", textOf(error), await undo(adapter, change, inTime));
  }
  const state = await stateOf(adapter, change);
  if (state === "applied") return { ok: true, result };
  return failed("verify", `after apply the host shows ${state}`, await undo(adapter, change, inTime));
}

/** rollback, verify. */
export async function rollBackHost(
  adapter: ProductAdapter,
  change: Change,
  inTime: InTime = () => true,
): Promise<HostRun> {
  if (!inTime()) return heldUp(adapter, change);
  let result: AdapterResult;
  try {
    result = await step((signal) => adapter.rollback(change, signal));
  } catch (error) {
    return failed("rollback", textOf(error), await stateOf(adapter, change));
  }
  const state = await stateOf(adapter, change);
  if (state === "rolled_back" || state === "absent") return { ok: true, result };
  return failed("verify", `after rollback the host shows ${state}`, state);
}

/** What the host shows of a change; `unknown` when it cannot say. */
export async function stateOf(adapter: ProductAdapter, change: Change): Promise<HostState> {
  return step((signal) => adapter.verify(change, signal)).catch(() => "unknown" as const);
}

async function undo(adapter: ProductAdapter, change: Change, inTime: InTime): Promise<HostState> {
  const before = await stateOf(adapter, change);
  if (before === "absent" || before === "rolled_back" || !inTime()) return before;
  await step((signal) => adapter.rollback(change, signal)).catch(() => undefined);
  return stateOf(adapter, change);
}

const heldUp = async (adapter: ProductAdapter, change: Change): Promise<HostRun> =>
  failed(
    "interrupted",
    "the service was held up, and its time for this was over; ask for it again",
    await stateOf(adapter, change),
  );

const failed = (stage: HostFailure["stage"], error: string, host: HostState, rejected?: true): HostRun => ({
  ok: false,
  failure: { stage, error, host, ...(rejected ? { rejected } : {}) },
});

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
