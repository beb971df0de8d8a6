/** The intent as it is shown: what governs this product, and how its adapter and KPI feed stand. */
import * as z from "zod";
import { reading } from "../follow/reading.ts";
import { waiting } from "../follow/waiting.ts";
import type { GovernanceDeps } from "../governance/deps.ts";
import { policySchema } from "../governance/rules/intent.ts";

export const intentSummary = z.object({
  product_id: z.string(),
  product_type: z.string().nullable(),
  version: z.string(),
  update_epoch: z.number().int(),
  approved_by: z.string(),
  manifest_hash: z.string(),
  /** The rules in force, with what the manifest leaves out filled in. */
  policy: policySchema,
  /** `failing` when the last operation failed; `null` without an adapter. */
  adapter: z
    .object({ name: z.string(), status: z.enum(["ready", "failing"]), last_error: z.string().nullable() })
    .nullable(),
  last_kpi_at: z.string().nullable(),
});

/** The summary of today's intent. */
export async function intentView(deps: GovernanceDeps): Promise<z.infer<typeof intentSummary>> {
  const { intent, manifest_hash, adapter } = deps.product!;
  const { signing, ...policy } = intent.policy;
  const failure = adapter && (await reading(deps, waiting)).state.adapter_error;
  return {
    product_id: intent.product_id,
    product_type: intent.product_type ?? null,
    version: intent.version,
    update_epoch: intent.update_epoch,
    approved_by: intent.approved_by,
    manifest_hash,
    policy: { ...policy, ...(signing.only ? { signed_only: true } : {}) },
    adapter: adapter
      ? { name: adapter.name, status: failure ? "failing" : "ready", last_error: failure ?? null }
      : null,
    last_kpi_at: (await deps.store.get("kpi", "latest"))?.value.last_at ?? null,
  };
}
