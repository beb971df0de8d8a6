/** The intent as it is shown: what governs this product, and how its adapter and KPI feed stand. */
import * as z from "zod";
import { reading } from "../follow/reading.ts";
import { waiting } from "../follow/waiting.ts";
import type { GovernanceDeps } from "../governance/deps.ts";
import { policySchema } from "../governance/rules/intent.ts";
import type { KnownKey } from "../governance/rules/signing.ts";

/** A key as it is shown: enough to ask its owner for a signature. */
const shownKey = z.object({
  /** How entries name it. */
  id: z.string(),
  type: z.enum(["webauthn", "ssh"]),
  credential_id: z.string().optional(),
  rp_id: z.string().optional(),
  origins: z.array(z.string()).optional(),
  /** It signs by itself. */
  unattended: z.boolean().optional(),
});

export const intentSummary = z.object({
  product_id: z.string(),
  product_type: z.string().nullable(),
  version: z.string(),
  update_epoch: z.number().int(),
  approved_by: z.string(),
  manifest_hash: z.string(),
  /** The rules in force, with what the manifest leaves out filled in. */
  policy: policySchema,
  /** What people sign with, by name as names are compared; whoever stands here must sign. */
  keys: z.record(z.string(), z.array(shownKey)),
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
    keys: Object.fromEntries(Object.entries(signing.keys).map(([name, keys]) => [name, keys.map(shown)])),
    adapter: adapter
      ? { name: adapter.name, status: failure ? "failing" : "ready", last_error: failure ?? null }
      : null,
    last_kpi_at: (await deps.store.get("kpi", "latest"))?.value.last_at ?? null,
  };
}

function shown(key: KnownKey): z.infer<typeof shownKey> {
  const { id, type } = key;
  if (key.type === "ssh") return { id, type, unattended: key.unattended };
  const { credential_id, rp_id, origins } = key;
  return { id, type, credential_id, rp_id, ...(origins && { origins }) };
}
