/** The summary of the intent in force, with the state of its adapter and its KPI feed. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting } from "../projections/waiting.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import type { KnownKey } from "../changes/rules/signing.ts";

/** The public part of a key, which is enough to request a signature. */
const shownKeySchema = once(() =>
  z.object({
    id: z.string().meta({ description: "Id of the key, as audit entries name it.", examples: ["SHA256:…"] }),
    type: z.enum(["webauthn", "ssh"]).describe("A passkey or an SSH key."),
    credential_id: z
      .string()
      .optional()
      .meta({ description: "The passkey's id, base64url; absent for SSH.", examples: ["AQIDBAUGBwg"] }),
    rp_id: z
      .string()
      .optional()
      .meta({
        description: "The host name the passkey is for; absent for SSH.",
        examples: ["governance.acme.example"],
      }),
    origins: z.array(z.string()).optional().describe("Origins of the passkey; absent: the host name only."),
    unattended: z.boolean().optional().describe("Whether it signs without a person present."),
  }),
);

/** Schema of the summary. */
export const intentSummary = once(() =>
  z
    .object({
      product_id: z.string().meta({ description: "The product that is governed.", examples: ["acme-crm"] }),
      product_type: z
        .string()
        .nullable()
        .meta({ description: "Product type; null if not stated.", examples: ["crm"] }),
      version: z.string().meta({ description: "Version of the intent, as its authors count.", examples: ["2026.11"] }),
      update_epoch: z.number().int().describe("Rises with each intent; a lower one than the log's is rejected."),
      approved_by: z
        .string()
        .meta({ description: "Person who put the intent in force.", examples: ["head-of-product@acme.example"] }),
      manifest_hash: z.string().meta({
        description: "SHA-256 (hex) of the intent as RFC 8785 JSON.",
        examples: ["c68d2893…"],
      }),
      policy: z
        .looseObject({})
        .describe("The rules in force with every default; docs/product_intent.schema.json lists the fields."),
      keys: z
        .record(z.string(), z.array(shownKeySchema()))
        .describe("What people sign with, by name in lower case; whoever stands here must sign."),
      adapter: z
        .object({
          name: z.string().meta({ description: "Which adapter.", examples: ["file"] }),
          status: z.enum(["ready", "failing"]).describe("failing when its last operation failed."),
          last_error: z.string().nullable().describe("Why; null while ready."),
          systems: z
            .array(
              z.object({
                name: z.string().describe("Its name."),
                status: z.enum(["ready", "failing"]).describe("failing while it cannot be used."),
                last_error: z.string().nullable().describe("Why; null while ready."),
                match: z.array(z.string()).describe("Patterns of its targets."),
              }),
            )
            .optional()
            .describe("Each of several target systems."),
        })
        .nullable()
        .describe("The adapter to the host product; null without one."),
      last_kpi_at: z
        .string()
        .nullable()
        .meta({ description: "When a KPI was last fed; null before.", examples: ["2026-11-22T18:00:00.000Z"] }),
    })
    .describe("The intent in force: which product is governed, and by which rules."),
);

/** Reads the summary of the intent in force. */
export async function readIntentView(deps: ChangesDeps): Promise<z.infer<ReturnType<typeof intentSummary>>> {
  const { intent, manifest_hash, adapter } = deps.product!;
  // `signing` is derived from the intent. The summary has its keys in `keys`, and `signed_only` in the policy.
  const { signing, ...policy } = intent.policy;
  const failure = adapter && (await readProjection(deps, waiting)).state.adapter_error;
  return {
    product_id: intent.product_id,
    product_type: intent.product_type ?? null,
    version: intent.version,
    update_epoch: intent.update_epoch,
    approved_by: intent.approved_by,
    manifest_hash,
    policy: { ...policy, ...(signing.signedOnly ? { signed_only: true } : {}) },
    keys: Object.fromEntries(Object.entries(signing.keys).map(([name, keys]) => [name, keys.map(showKey)])),
    adapter: adapter ? { name: adapter.name, ...toAdapterStatus(failure), ...(await listSystems(adapter)) } : null,
    last_kpi_at: (await deps.store.get("kpi", "latest"))?.value.last_at ?? null,
  };
}

/** Lists the systems of an adapter with their current state; returns an empty object for an adapter with one system. */
async function listSystems({ systems = [] }: ProductAdapter) {
  if (systems.length < 2) return {};
  const states = systems.map(async ({ name, match, adapter }) => ({
    name,
    ...toAdapterStatus(await adapter.findProblem?.()),
    match: [...match],
  }));
  return { systems: await Promise.all(states) };
}

const toAdapterStatus = (problem: string | null | undefined) => ({
  status: problem ? ("failing" as const) : ("ready" as const),
  last_error: problem ?? null,
});

function showKey(key: KnownKey): z.infer<ReturnType<typeof shownKeySchema>> {
  const { id, type } = key;
  if (key.type === "ssh") return { id, type, unattended: key.unattended };
  const { credential_id, rp_id, origins } = key;
  return { id, type, credential_id, rp_id, ...(origins && { origins }) };
}
