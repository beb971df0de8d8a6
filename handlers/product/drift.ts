import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { readDriftReport, driftSchema } from "../../lib/changes/drift.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/drift: targets that no longer hold the applied value, as of the last check. */
export const drift = endpoint(
  {
    method: "GET",
    path: "/api/product/drift",
    summary: "Drift of the host product from applied values",
    operation: "getDrift",
    description: "Targets without their applied value, as of the last check.",
    example: {},
    ownReads: "filtered",
    product: true,
    input: () => z.object({}),
    output: driftSchema,
  },
  async (_input, { deps }: Call<ChangesDeps>) => answer(await readDriftReport(deps)),
);
