import * as z from "zod";
import type { PulseDeps } from "../lib/pulse/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { businessMetrics } from "../lib/pulse/business_metrics.ts";
import { PROMETHEUS_TYPE, prometheusText } from "../lib/pulse/prometheus_text.ts";

/** GET /api/metrics: figures of the product, then those of this process where the host has them. */
export const metrics = endpoint(
  {
    method: "GET",
    path: "/api/metrics",
    summary: "Prometheus metrics",
    input: z.object({}),
    output: z.string(),
  },
  async (_input, { deps }: Call<PulseDeps>) => {
    const text = prometheusText(await businessMetrics(deps)) + ((await deps.metrics?.text()) ?? "");
    return new Response(text, {
      headers: { "content-type": PROMETHEUS_TYPE, "cache-control": "no-store", "x-content-type-options": "nosniff" },
    });
  },
);
