/** Which manifest decisions are made under stands in the log: `intent_in_force` before the first entry under it. */
import type { AuditEvent } from "../audit/chain.ts";
import type { Tx } from "../store/store.ts";
import { serviceItself } from "./rules/actor.ts";
import type { ProductRuntime } from "./runtime.ts";

/** A manifest that was not in force at the last entry; without `event` it was at an earlier one. */
export interface ComingIntoForce {
  event: AuditEvent | undefined;
  /** Keeps that it is in force, and its text where it never was. */
  keep(): void;
}

/** What is to be recorded with the next entry; undefined where today's manifest is in force already. */
export async function comingIntoForce(tx: Tx, product: ProductRuntime): Promise<ComingIntoForce | undefined> {
  const { intent, manifest, manifest_hash } = product;
  if ((await tx.get("meta", "intent"))?.value.manifest_hash === manifest_hash) return undefined;
  const known = (await tx.get("manifests", manifest_hash)) !== undefined;
  const { product_id, version, update_epoch, approved_by } = intent;
  const detail = { manifest_hash, product_id, version, update_epoch, approved_by, principals: {}, ...serviceItself() };
  return {
    event: known ? undefined : { event_type: "intent_in_force", detail },
    keep() {
      tx.put("meta", "intent", { manifest_hash });
      if (!known) tx.put("manifests", manifest_hash, manifest);
    },
  };
}
