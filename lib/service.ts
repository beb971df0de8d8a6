/** The roof: a whole service over a store, for an application that hosts it. */
import { maintainCheckpoint } from "./audit/anchor.ts";
import { currentCheckpoint } from "./audit/checkpoint.ts";
import { createDeps, type Deps, type ProductOptions } from "./deps.ts";
import { keepFollowing } from "./follow/follow.ts";
import { openProduct, type OpenOptions } from "./governance/open.ts";
import type { Endpoint, Handler } from "./http/endpoint.ts";
import { routed, type RouteOptions } from "./http/router.ts";
import { createCommitSignal } from "./kit/commit_signal.ts";
import { type CycleReport, runCycle } from "./pulse/cycle.ts";
import { signalling } from "./store/signalling.ts";
import type { Store } from "./store/store.ts";

/** What a service is made of. Only the store has no default. */
export interface ServiceOptions
  extends Partial<Omit<Deps, "product" | "integrity" | "mutex">>, ProductOptions, OpenOptions, RouteOptions {
  store: Store;
  /** Follows the log as this process commits, not in cycles only: for a process that lives long. */
  follow?: boolean | undefined;
}

/** A service that is open. */
export interface Service {
  /** Answers a request to any endpoint. */
  fetch: Handler;
  /** Does what time makes due: expiries, outcomes, guardrails, drift. To be called every minute or so. */
  cycle(): Promise<CycleReport>;
  /** Lets readers go, waits for what is being answered, and closes the store. */
  close(): Promise<void>;
  /** What a single endpoint is given: `approve(service.deps)` is its fetch. */
  deps: Deps;
}

/**
 * Opens a service over these endpoints: the intent is validated, the store held against it and against the anchor, the
 * newest entries checked and what a crash interrupted settled before the promise resolves. A store that could not be opened
 * on stays open. Errors: `IntentInvalid`, `IdentityMismatch`, and those of the store.
 */
export async function openService(endpoints: readonly Endpoint<Deps>[], options: ServiceOptions): Promise<Service> {
  const { exclusive, tail, follow, base, commits = createCommitSignal(), ...given } = options;
  const deps = createDeps({ ...given, commits, store: signalling(given.store, commits) });
  if (deps.product) deps.checkpoint ??= { make: () => currentCheckpoint(deps) };
  await openProduct(deps, { exclusive, tail });
  const following = follow ? keepFollowing(deps) : undefined;
  const handler = routed(endpoints, deps, { base });
  const underWay = new Set<Promise<Response>>();
  return {
    async fetch(request) {
      const answer = handler(request);
      underWay.add(answer);
      try {
        return await answer;
      } finally {
        underWay.delete(answer);
      }
    },
    async cycle() {
      const report = await runCycle(deps);
      if (deps.product) await maintainCheckpoint(deps);
      return report;
    },
    async close() {
      commits.close();
      await Promise.allSettled(underWay);
      await following?.stop();
      await deps.store.close();
    },
    deps,
  };
}
