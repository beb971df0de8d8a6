import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { finiteNumber, freeText, personName } from "../../lib/http/form.ts";
import { feedKpis, type KpiFeed } from "../../lib/governance/feed_kpis.ts";
import { kpiNames, STANDARD_KPIS } from "../../lib/governance/rules/intent.ts";

/** POST /api/product/kpi: feeds KPIs of the real product; one bad field refuses the whole feed. */
export const kpi = endpoint(
  {
    method: "POST",
    path: "/api/product/kpi",
    summary: "Feed KPIs",
    product: true,
    token: true,
    unnamed: true,
    input: ({ product }: GovernanceDeps) =>
      z
        .strictObject({
          actor: personName.optional(),
          note: freeText(4000).optional(),
          // An intent may have a KPI of such a name.
          ...Object.fromEntries(namesOf(product).map((name) => [name, finiteNumber.optional()])),
        })
        .transform((stated) => feedOf(stated, namesOf(product)))
        .refine(({ values }) => Object.keys(values).length > 0, "must name one KPI at least"),
    output: z.object({
      refreshed: z.boolean(),
      E: z.number().nullable(),
      accepted: z.record(z.string(), z.number()),
      at: z.string(),
      audit_entry: entrySchema,
    }),
    errors: ["identity_mismatch", "idempotency_key_reused"],
  },
  (feed, call: Call<GovernanceDeps>) => feedKpis(call, feed),
);

const namesOf = (product: GovernanceDeps["product"]): readonly string[] =>
  product ? kpiNames(product.intent) : STANDARD_KPIS;

function feedOf(stated: Record<string, unknown>, names: readonly string[]): KpiFeed {
  const fed = Object.entries(stated);
  return {
    values: Object.fromEntries(fed.filter(([name]) => names.includes(name))) as KpiFeed["values"],
    ...Object.fromEntries(fed.filter(([name]) => !names.includes(name))),
  };
}
