/** Combines the dependencies of all parts of `lib`, with a default for each platform. */
import type { ProductAdapter } from "./changes/operations/adapter_port.ts";
import { IdentityMismatch, makeIdentity } from "./changes/open_product.ts";
import { recordIntent } from "./changes/record_intent.ts";
import { type Intent, IntentInvalid, loadIntent } from "./changes/rules/intent.ts";
import { findUnknownSystem } from "./changes/rules/promotion_rule.ts";
import { listAgents } from "./changes/rules/principals.ts";
import type { Identity, ProductRuntime } from "./changes/runtime.ts";
import { canMatchDeployment } from "./changes/rules/release.ts";
import { findUnmappedClaim, GateIssuersInvalid } from "./identity/gate_issuers.ts";
import type { HttpDeps } from "./http/deps.ts";
import { createKeyedMutex } from "./kit/keyed_mutex.ts";
import { risingIds } from "./kit/ids.ts";
import { consoleWarnings, fastestSha256, systemClock } from "./kit/platform.ts";
import { type RoutedSystem, routingAdapter } from "./targets/routing.ts";
import type { LinkDeps } from "./link/deps.ts";
import { limitLlm } from "./llm/bounds.ts";

/** The dependencies of all handlers, which read nothing else from the environment. */
export interface Deps extends LinkDeps, HttpDeps {
  product?: ProductRuntime | undefined;
}

/** Parts of the product runtime. */
export interface ProductOptions {
  /** The product intent as JSON text or parsed. Without one the product runtime is off. */
  intent?: string | object | undefined;
  /** Carries approved changes to the host product; without one they are recorded only. */
  adapter?: ProductAdapter | ((identity: Identity) => ProductAdapter | undefined) | undefined;
  /** Target systems, each for the targets that it matches; in place of `adapter`. */
  targets?: readonly RoutedSystem[] | undefined;
  /** Names this node, and this instance of the product: by default `local` and `<product_id>@<node>`. */
  node_id?: string | undefined;
  instance_id?: string | undefined;
}

/**
 * Returns the dependencies of a service, with a default for each required one but the store. Errors: `IntentInvalid`,
 * `GateIssuersInvalid`, and those of the adapter.
 */
export function createDeps(options: Partial<Deps> & Pick<Deps, "store"> & ProductOptions): Deps {
  const { intent, adapter, targets, node_id = "local", instance_id, ...parts } = options;
  if (adapter && targets) throw new TypeError("adapter and targets exclude each other");
  const deps: Deps = {
    clock: systemClock,
    ids: risingIds(),
    sha256: fastestSha256(),
    log: consoleWarnings,
    integrity: {},
    mutex: createKeyedMutex(),
    owner: crypto.randomUUID(),
    ...parts,
  };
  deps.llm &&= limitLlm(deps.llm, {
    clock: deps.clock,
    callsPerHour: deps.llmCallsPerHour,
    timeoutSeconds: deps.llmTimeout,
  });
  if (intent === undefined) return deps;
  const { manifest, agents } = readManifest(intent, deps);
  const identity = makeIdentity(manifest.intent.product_id, node_id, instance_id);
  const singleAdapter = typeof adapter === "function" ? adapter(identity) : adapter;
  const productAdapter = targets ? routingAdapter(targets) : singleAdapter;
  requireKnownSystems(manifest.intent, productAdapter);
  deps.agents = agents;
  deps.product = { ...manifest, identity, ...(productAdapter && { adapter: productAdapter }) };
  requireMappedClaims(deps);
  return deps;
}

/** Requires that tokens of CI jobs state repository, environment and head if a gate decides on deployments. */
function requireMappedClaims({ gateTokens, product }: Deps): void {
  // A single adapter does not list the targets of its gates, so any target may be asked for.
  const { gates = ["*"] } = product?.adapter ?? {};
  const unmapped = gateTokens && gates.some(canMatchDeployment) ? findUnmappedClaim(gateTokens.issuers) : undefined;
  if (unmapped)
    throw new GateIssuersInvalid(
      `the issuer ${unmapped.issuer} of --gate-issuers must map claims.${unmapped.claim}, since deployments (deploy/…) may be asked for`,
    );
}

/**
 * Replaces the intent in force: the new one is in the log before it applies to any request. Returns false if the intent has not
 * changed. Errors, after which the current one stays in force: `IntentInvalid`, `IdentityMismatch`, and those of a write.
 */
export async function replaceIntent(deps: Deps, intent: string | object): Promise<boolean> {
  const { product } = deps;
  if (!product) throw new Error("the product runtime is off: start the service with an intent");
  const { manifest, agents } = readManifest(intent, deps);
  if (manifest.manifest_hash === product.manifest_hash) return false;
  const { product_id, update_epoch } = manifest.intent;
  if (product_id !== product.identity.product_id)
    throw new IdentityMismatch(`product_id is ${product_id}, and this service governs ${product.identity.product_id}`);
  if (update_epoch <= product.intent.update_epoch)
    throw new IntentInvalid(
      `update_epoch is ${update_epoch}, and the intent in force has ${product.intent.update_epoch}; raise update_epoch in the changed intent`,
    );
  requireKnownSystems(manifest.intent, product.adapter);
  const next = { ...product, ...manifest };
  // The entry is written with a view of `deps` that has the new intent, before `deps` itself changes.
  await recordIntent(Object.create(deps, { product: { value: next } }) as Deps);
  deps.agents = agents;
  deps.product = next;
  return true;
}

/** Reads an intent, and the agents that it names. Errors: `IntentInvalid`. */
function readManifest(intent: string | object, deps: Deps) {
  const manifest = loadIntent(typeof intent === "string" ? intent : JSON.stringify(intent), deps.sha256);
  const agents = listAgents(manifest.intent);
  rejectSharedSecret(deps, agents);
  return { manifest, agents };
}

/** Requires that each target system of `policy.promotion` is configured. Errors: `IntentInvalid`. */
function requireKnownSystems({ policy }: Intent, adapter: ProductAdapter | undefined): void {
  const systems = adapter?.systems?.map(({ name }) => name) ?? (adapter ? [adapter.name] : []);
  const unknown = findUnknownSystem(policy.promotion, systems);
  if (unknown === undefined) return;
  const available = systems.length > 0 ? `there are ${systems.join(", ")}` : "no target system is configured";
  throw new IntentInvalid(`policy.promotion names the target system ${unknown}, and ${available}`);
}

/** Rejects an agent's secret that is also the admin or read token, since its holder would be ambiguous. */
function rejectSharedSecret({ adminToken, readToken, sha256 }: Deps, agents: ReturnType<typeof listAgents>): void {
  for (const [token, kind] of [
    [adminToken, "admin"],
    [readToken, "read"],
  ] as const) {
    const agent = token && agents.find(({ token_sha256 }) => token_sha256 === sha256(token));
    if (!agent) continue;
    const message = `is the hash of the ${kind} token, so its holder could not be distinguished from the agent; give the agent a secret of its own`;
    throw new IntentInvalid(`principals.${agent.name}.token_sha256 ${message}`);
  }
}
