import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import { plainResponse } from "../lib/http/answer.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { formatBusinessMetrics, PROMETHEUS_TYPE } from "../lib/operations/business_metrics.ts";

/** GET /api/metrics: figures of the product, and of this process if the host provides them. */
export const metrics = endpoint(
  {
    method: "GET",
    path: "/api/metrics",
    summary: "Prometheus metrics",
    operation: "getMetrics",
    description: "Figures of the product and of this process in the Prometheus text format.",
    example: {},
    input: z.object({}),
    output: z.string().meta({ examples: ["# TYPE countersign_cycles_total counter\ncountersign_cycles_total 12\n"] }),
  },
  async (_input, { deps }: Call<OperationsDeps>) => {
    const text = (await formatBusinessMetrics(addRequestCache(deps))) + ((await deps.metrics?.text()) ?? "");
    return plainResponse(text, { "content-type": PROMETHEUS_TYPE });
  },
);
