/** The roof: a whole service over a store, for an application that hosts it. */
import { currentCheckpoint } from "./audit/checkpoint.ts";
import { createDeps, type Deps } from "./deps.ts";
import type { ProductAdapter } from "./governance/adapters/port.ts";
import { identityOf, openProduct } from "./governance/open.ts";
import { loadIntent } from "./governance/rules/intent.ts";
import type { ProductRuntime } from "./governance/runtime.ts";
import type { Endpoint, Handler } from "./http/endpoint.ts";
import { routed, type RouteOptions } from "./http/router.ts";
import { createCommitSignal } from "./kit/commit_signal.ts";
import { type CycleReport, runCycle } from "./pulse/cycle.ts";
import { signalling } from "./store/signalling.ts";
import type { Store } from "./store/store.ts";

/** What a service is made of. Only the store has no default. */
export interface ServiceOptions extends Partial<Omit<Deps, "product" | "integrity" | "mutex">>, RouteOptions {
  store: Store;
  /** The product intent: its JSON text, or what that parses to. Without one the product runtime is off. */
  intent?: string | object | undefined;
  /** Carries approved changes to the host product; without one they are recorded only. */
  adapter?: ProductAdapter | undefined;
  /** Names this node, and this instance of the product: by default `local` and `<product_id>@<node>`. */
  node_id?: string | undefined;
  instance_id?: string | undefined;
  /** No other process uses the store: what a crash left half done is settled at once. */
  exclusive?: boolean | undefined;
  /** How many of the newest entries are checked before anything is served. */
  tail?: number | undefined;
}

/** A service that is open. */
export interface Service {
  /** Answers a request to any endpoint. */
  fetch: Handler;
  /** Does what time makes due: expiries, outcomes, guardrails, drift. To be called every minute or so. */
  cycle(): Promise<CycleReport>;
  /** Lets readers go and closes the store. */
  close(): Promise<void>;
  /** What a single endpoint is given: `approve(service.deps)` is its fetch. */
  deps: Deps;
}

/**
 * Opens a service over these endpoints: the intent is validated, the store held against it, the newest entries checked and
 * what a crash interrupted settled before the promise resolves. Errors: `IntentInvalid`, `IdentityMismatch`, and those of
 * the store.
 */
export async function openService(endpoints: readonly Endpoint<Deps>[], options: ServiceOptions): Promise<Service> {
  const { intent, adapter, node_id = "local", instance_id, exclusive, tail, base, ...given } = options;
  const commits = given.commits ?? createCommitSignal();
  const deps = createDeps({ ...given, commits, store: given.commits ? given.store : signalling(given.store, commits) });
  if (intent !== undefined) {
    const manifest = loadIntent(typeof intent === "string" ? intent : JSON.stringify(intent), deps.sha256);
    const identity = identityOf(manifest.intent.product_id, node_id, instance_id);
    deps.product = { ...manifest, identity, ...(adapter && { adapter }) } satisfies ProductRuntime;
    deps.checkpoint ??= { make: () => currentCheckpoint(deps) };
  }
  await openProduct(deps, { ...(exclusive !== undefined && { exclusive }), ...(tail !== undefined && { tail }) });
  return {
    fetch: routed(endpoints, deps, { ...(base !== undefined && { base }) }),
    cycle: () => runCycle(deps),
    async close() {
      commits.close();
      await deps.store.close();
    },
    deps,
  };
}
