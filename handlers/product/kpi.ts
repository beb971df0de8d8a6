import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { finiteNumber } from "../../lib/http/form.ts";
import { feedKpis } from "../../lib/governance/feed_kpis.ts";
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
        .strictObject(
          Object.fromEntries(
            (product ? kpiNames(product.intent) : STANDARD_KPIS).map((name) => [name, finiteNumber.optional()]),
          ),
        )
        .refine((fed) => Object.keys(fed).length > 0, "must name one KPI at least"),
    output: z.object({
      refreshed: z.boolean(),
      E: z.number().nullable(),
      accepted: z.record(z.string(), z.number()),
      at: z.string(),
      audit_entry: entrySchema,
    }),
    errors: ["idempotency_key_reused"],
  },
  (input, call: Call<GovernanceDeps>) => feedKpis(call, input as Record<string, number>),
);
