/** Reports each call of a target system, for metrics. */
import type { Log } from "../kit/platform.ts";
import { Unanswered } from "../kit/time_limit.ts";
import { type SetManyResult, type SetResult, TargetRejected, type TargetSystem } from "./port.ts";

export const TARGET_OPERATIONS = ["read", "write", "resolve", "ping"] as const;
export type TargetOperation = (typeof TARGET_OPERATIONS)[number];

/** `conflict`: the target held another value; `rejected`: the system does not read or set this entry. */
export const TARGET_OUTCOMES = ["done", "conflict", "rejected", "unanswered", "failed"] as const;
export type TargetOutcome = (typeof TARGET_OUTCOMES)[number];

/** One call. Its fields contain only configured names and fixed words, so that they can be metric labels. */
export interface TargetCall {
  system: string;
  operation: TargetOperation;
  outcome: TargetOutcome;
  seconds: number;
}

/** Receives the calls of target systems. */
export interface TargetObserver {
  called(call: TargetCall): void;
  /** Called before a failed read is repeated. */
  retried(system: string): void;
}

function classifyError(error: unknown): TargetOutcome {
  if (error instanceof Unanswered) return "unanswered";
  return error instanceof TargetRejected ? "rejected" : "failed";
}

function classifyWrite(result: SetResult | SetManyResult): TargetOutcome {
  if (result.done) return "done";
  return "conflict" in result ? "conflict" : "rejected";
}

/** Returns a function that runs a call and reports it. */
export function reportCalls(system: string, observer: TargetObserver | undefined) {
  return async <T>(
    operation: TargetOperation,
    run: () => Promise<T>,
    classify: (result: T) => TargetOutcome = () => "done",
  ): Promise<T> => {
    if (!observer) return run();
    const start = performance.now();
    const report = (outcome: TargetOutcome): void =>
      observer.called({ system, operation, outcome, seconds: (performance.now() - start) / 1000 });
    try {
      const result = await run();
      report(classify(result));
      return result;
    } catch (error) {
      report(classifyError(error));
      throw error;
    }
  };
}

/** Optional receivers of reports on a target system. */
export interface TargetReports {
  observer?: TargetObserver | undefined;
  /** Logs when the system stops answering, and when it answers again. */
  log?: Pick<Log, "info" | "warn"> | undefined;
}

/** Wraps a system so that each call is reported. */
export function observeSystem(system: TargetSystem, observer: TargetObserver | undefined): TargetSystem {
  if (!observer) return system;
  const report = reportCalls(system.name, observer);
  const { resolve, ping, note, setMany } = system;
  return {
    ...system,
    read: (...args) => report("read", () => system.read(...args)),
    compareAndSet: (...args) => report("write", () => system.compareAndSet(...args), classifyWrite),
    ...(setMany && { setMany: (...args) => report("write", () => setMany(...args), classifyWrite) }),
    ...(resolve && { resolve: (...args) => report("resolve", () => resolve(...args)) }),
    ...(ping && { ping: (...args) => report("ping", () => ping(...args)) }),
    ...(note && { note: (...args) => report("write", () => note(...args)) }),
  };
}
