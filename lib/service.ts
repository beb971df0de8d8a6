/** Opens a complete service over a store, for an application that hosts it. */
import { maintainCheckpoint } from "./audit/anchor.ts";
import { storeCurrentCheckpoint } from "./audit/checkpoint.ts";
import { createDeps, type Deps, type ProductOptions, replaceIntent } from "./deps.ts";
import { startProjecting } from "./projections/projector.ts";
import { openProduct, type OpenOptions } from "./changes/open_product.ts";
import type { Endpoint, Handler } from "./http/endpoint.ts";
import { createRouter, type RouteOptions } from "./http/router.ts";
import { createCommitSignal } from "./kit/commit_signal.ts";
import { runWithTimeLimit } from "./kit/time_limit.ts";
import { type CycleReport, runCycle } from "./operations/cycle.ts";
import { createGithubAnswers, startAnswering } from "./operations/github/answers.ts";
import { startAutomaticApplies } from "./operations/apply_loop.ts";
import { createDueCycle } from "./operations/due_cycle.ts";
import { notifyOnCommit } from "./store/notify_on_commit.ts";
import type { Store } from "./store/store.ts";

/** Parts of a service. Only the store has no default. */
export interface ServiceOptions
  extends Partial<Omit<Deps, "product" | "integrity" | "mutex">>, ProductOptions, OpenOptions, RouteOptions {
  store: Store;
  /**
   * For a long-running process: projects the log after each commit, not only in cycles and reads; records at the start that the
   * intent is in force; applies changes that have `apply_when`; restores values under `policy.on_drift: restore`; answers GitHub.
   */
  longLived?: boolean | undefined;
  /** Each cycle does all of its work, even if nothing was written and nothing is due: for a store whose reads cost nothing. */
  wholeCycles?: boolean | undefined;
}

const CLOSE_MS = 10_000;

/** An open service. */
export interface Service {
  /** Answers a request to any endpoint. */
  fetch: Handler;
  /**
   * Does the work that is due: expiries, outcomes, guardrails, drift. Call it about every minute. If nothing is due and nothing was
   * written, it costs one request to a shared store, and none to any other store.
   */
  cycle(): Promise<CycleReport>;
  /**
   * Replaces the intent for all later requests. Resolves with true once `intent_in_force` is in the log, with false if the intent is
   * in force already. Errors, after which the current one stays in force: `IntentInvalid`, `IdentityMismatch`, and those of a
   * governed write.
   */
  useIntent(intent: string | object): Promise<boolean>;
  /** Wakes waiting requests, waits up to ten seconds each for them and for background work, and closes the store. */
  close(): Promise<void>;
  /** Dependencies of a single endpoint: `approve(service.deps)` is its fetch. */
  deps: Deps;
}

/**
 * Opens a service over these endpoints. Before the promise resolves, the intent is validated, the store is verified against it and
 * against the anchor, the newest entries are verified, and interrupted operations are resolved. If that fails, the store stays
 * open. Errors: `IntentInvalid`, `IdentityMismatch`, `IntentOutdated`, and those of the store.
 */
export async function openService(endpoints: readonly Endpoint<Deps>[], options: ServiceOptions): Promise<Service> {
  const {
    exclusive,
    tail,
    backup,
    longLived,
    recordIntent = longLived,
    refuseOutdated,
    wholeCycles,
    base,
    ...rest
  } = options;
  const { commits = createCommitSignal(), ...parts } = rest;
  const deps = createDeps({ ...parts, longLived, commits, store: notifyOnCommit(parts.store, commits) });
  if (deps.product) deps.checkpoint ??= { make: () => storeCurrentCheckpoint(deps) };
  await openProduct(deps, { exclusive, tail, backup, recordIntent, refuseOutdated });
  const projecting = longLived ? startProjecting(deps) : undefined;
  const applying = longLived && deps.product ? startAutomaticApplies(deps) : undefined;
  if (deps.product?.adapter?.githubGates?.length) deps.github ??= createGithubAnswers(deps);
  const answering = longLived && deps.github ? startAnswering(deps, deps.github) : undefined;
  const handler = createRouter(endpoints, deps, { base });
  let runningCount = 0;
  const waiters: (() => void)[] = [];
  const countRunning = async <T>(work: Promise<T>): Promise<T> => {
    runningCount++;
    try {
      return await work;
    } finally {
      if (--runningCount === 0) for (const wake of waiters.splice(0)) wake();
    }
  };
  const waitForAll = async (): Promise<void> => {
    while (runningCount > 0) await new Promise<void>((resolve) => waiters.push(resolve));
  };
  const dueCycle = wholeCycles ? () => runCycle(deps) : createDueCycle(deps);
  const cycle = async (): Promise<CycleReport> => {
    const countBefore = commits.count;
    const report = await dueCycle();
    // An unchanged log needs no new checkpoint, but a failed request to an anchor or witness is repeated.
    if (deps.product && (commits.count !== countBefore || deps.anchor || deps.witnesses?.length))
      await maintainCheckpoint(deps);
    return report;
  };
  return {
    fetch: (request) => countRunning(handler(request)),
    cycle: () => countRunning(cycle()),
    useIntent: (intent) => countRunning(replaceIntent(deps, intent)),
    async close() {
      commits.close();
      // Work that takes longer fails, because the closed store rejects it.
      await runWithTimeLimit(waitForAll, CLOSE_MS).catch(() => undefined);
      await projecting?.stop();
      await runWithTimeLimit(async () => Promise.all([applying?.stop(), answering?.stop()]), CLOSE_MS).catch(
        () => undefined,
      );
      await deps.store.close();
    },
    deps,
  };
}
