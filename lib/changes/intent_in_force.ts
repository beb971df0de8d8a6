/** Intents and target systems come into force: `intent_in_force` and `targets_in_force` precede the first entry under them. */
import type { AuditEvent } from "../audit/chain.ts";
import { AppError } from "../kit/errors.ts";
import type { Reads, Tx } from "../store/store.ts";
import { serviceActor } from "./rules/actor.ts";
import { createPrincipalFacts } from "./rules/principals.ts";
import type { ProductRuntime } from "./runtime.ts";

/** An intent or a configuration of target systems that comes into force, or the end of such a configuration. */
export interface Activation {
  event: AuditEvent;
  /** Stores the hash of the intent or configuration in force; of an intent also the text. */
  store(): void;
}

/** Explains why an instance may not write: the log is under another manifest, whose `update_epoch` is not lower. */
export async function findIntentProblem(
  reads: Pick<Reads, "get">,
  { intent, manifest_hash }: Pick<ProductRuntime, "intent" | "manifest_hash">,
): Promise<string | undefined> {
  const inForce = (await reads.get("meta", "intent"))?.value.manifest_hash ?? manifest_hash;
  const manifest = inForce === manifest_hash ? undefined : (await reads.get("manifests", inForce))?.value;
  // Every epoch is above 0, so 0 stands for a log under this manifest or under none that is stored.
  const { update_epoch = 0 } = manifest === undefined ? {} : (JSON.parse(manifest) as { update_epoch?: number });
  if (update_epoch < intent.update_epoch) return undefined;
  const problem = `this instance has the intent of update_epoch ${intent.update_epoch}`;
  return update_epoch === intent.update_epoch
    ? `${problem}, and the log another one of the same update_epoch (manifest_hash ${inForce}); raise update_epoch in the changed intent`
    : `${problem}, and the log one of ${update_epoch}; start it with the newer intent, or raise update_epoch above ${update_epoch}`;
}

/** Lists the activations to record before the next entry. Errors: 503 `intent_outdated`. */
export async function listActivations(tx: Tx, product: ProductRuntime): Promise<Activation[]> {
  const activations = await Promise.all([findIntentActivation(tx, product), findTargetsActivation(tx, product)]);
  return activations.filter((activation) => activation !== undefined);
}

async function findTargetsActivation(tx: Tx, { adapter }: ProductRuntime): Promise<Activation | undefined> {
  const { hash = null, systems = [] } = adapter?.configuration ?? {};
  if (((await tx.get("meta", "targets"))?.value.hash ?? null) === hash) return undefined;
  return {
    event: { event_type: "targets_in_force", detail: { hash, systems, ...serviceActor() } },
    store() {
      if (hash === null) tx.delete("meta", "targets");
      else tx.put("meta", "targets", { hash });
    },
  };
}

async function findIntentActivation(tx: Tx, product: ProductRuntime): Promise<Activation | undefined> {
  const { intent, manifest, manifest_hash } = product;
  if ((await tx.get("meta", "intent"))?.value.manifest_hash === manifest_hash) return undefined;
  const outdated = await findIntentProblem(tx, product);
  if (outdated !== undefined) throw new AppError("intent_outdated", outdated);
  const { product_id, version, update_epoch, approved_by } = intent;
  const principals = createPrincipalFacts(intent);
  const detail = { manifest_hash, product_id, version, update_epoch, approved_by, principals, ...serviceActor() };
  return {
    event: { event_type: "intent_in_force", detail },
    store() {
      tx.put("meta", "intent", { manifest_hash });
      tx.put("manifests", manifest_hash, manifest);
    },
  };
}
