import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { checkReadiness, readinessSchema } from "../lib/operations/readiness.ts";

/** GET /readyz: 200 when the service can take writes, otherwise 503 with the reason. */
export const readyz = endpoint(
  {
    method: "GET",
    path: "/readyz",
    summary: "Readiness",
    operation: "getReadiness",
    description: "Tells a load balancer if the service takes writes.",
    example: {},
    open: true,
    ignoresPerson: true,
    sameBodyStatuses: [503],
    input: z.looseObject({}),
    output: readinessSchema,
  },
  async (_input, { deps }: Call<ChangesDeps>) => {
    const report = await checkReadiness(addRequestCache(deps));
    return answer(report, report.ready ? 200 : 503);
  },
);
