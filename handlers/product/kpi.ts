import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { finiteNumber, freeText, personName } from "../../lib/kit/fields.ts";
import { proofFields } from "../../lib/http/proof_fields.ts";
import { respond } from "../../lib/http/replies.ts";
import { feedKpis, type KpiFeed, type KpiResult } from "../../lib/changes/commands/feed_kpis.ts";
import { listKpiNames } from "../../lib/changes/rules/intent.ts";
import { STANDARD_KPIS } from "../../lib/changes/rules/change_terms.ts";

/** POST /api/product/kpi: feeds KPIs of the host product; one invalid field rejects the whole feed. */
export const kpi = endpoint(
  {
    method: "POST",
    path: "/api/product/kpi",
    summary: "Feed KPIs",
    operation: "feedKpis",
    description: "Records the current KPI values. One invalid field rejects the whole feed.",
    example: { nrr_quarterly: 1.07, incident_rate: 0.02 },
    product: true,
    token: true,
    personOptional: true,
    jsonFields: ["proof"],
    input: ({ product }: ChangesDeps) =>
      z
        .strictObject(kpiFields(listFeedKpis(product)))
        .transform((fields) => parseFeed(fields, listFeedKpis(product)))
        .refine(({ values }) => Object.keys(values).length > 0, "must name one KPI at least"),
    output: () =>
      z.object({
        refreshed: z.boolean().describe("True if a KPI that counts in E was fed."),
        E: z.number().nullable().describe("Effect after the feed, 0 to 1; null without data."),
        accepted: z.record(z.string(), z.number()).describe("The values that were taken, by KPI."),
        at: z.string().meta({ description: "Time of the feed.", format: "date-time" }),
        audit_entry: entrySchema(),
      }),
    errors: ["identity_mismatch", "not_permitted", "proof_required", "proof_invalid", "idempotency_key_reused"],
  },
  (feed, call: Call<ChangesDeps>) => respond(call, (caller) => feedKpis(caller, feed), kpiReply),
);

const kpiReply = ({ entry, ...members }: KpiResult) => ({ members, entry });

const listFeedKpis = (product: ChangesDeps["product"]): readonly string[] =>
  product ? listKpiNames(product.intent) : STANDARD_KPIS;

const kpiFields = (names: readonly string[]): Record<string, z.ZodType> => ({
  actor: personName().optional().describe("Feeder; absent: the proxy's person."),
  note: freeText(4000).optional().describe("Source of the figures, for the record."),
  ...proofFields(),
  // KPIs come last, so that a KPI with the name of a field above replaces that field.
  ...Object.fromEntries(names.map((name) => [name, finiteNumber().optional().describe(`Value of ${name} now.`)])),
});

/** Separates the values of the KPIs from the other fields. */
function parseFeed(fields: Record<string, unknown>, names: readonly string[]): KpiFeed {
  const entries = Object.entries(fields);
  return {
    values: Object.fromEntries(entries.filter(([name]) => names.includes(name))) as KpiFeed["values"],
    ...Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
  };
}
