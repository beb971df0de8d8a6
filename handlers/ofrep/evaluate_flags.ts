import * as z from "zod";
import { endpoint } from "../../lib/http/endpoint.ts";
import { answerFlags, bulkErrorFormat, FLAGS_PATH } from "../../lib/http/ofrep.ts";
import { contextSchema, flagSchema } from "../../lib/http/ofrep_schemas.ts";

/** POST /ofrep/v1/evaluate/flags: the values of all targets for a tenant, in OpenFeature's remote evaluation protocol. */
export const evaluateFlags = endpoint(
  {
    method: "POST",
    path: FLAGS_PATH,
    summary: "All values of a tenant as feature flags",
    operation: "evaluateFlags",
    description: "OpenFeature's remote evaluation of all flags, for the tenant in the targeting key.",
    example: { context: { targetingKey: "t-100" } },
    product: true,
    reads: true,
    json: true,
    // Providers that refetch after an event send the wanted configuration; the answer is always the newest.
    ignoredQuery: ["flagConfigEtag", "flagConfigLastModified"],
    input: z.looseObject({ context: contextSchema.optional() }),
    output: z.object({
      flags: z.array(flagSchema).describe("Each target, by key."),
    }),
    notModified: true,
    errorFormat: bulkErrorFormat,
  },
  answerFlags,
);
