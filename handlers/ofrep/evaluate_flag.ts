import * as z from "zod";
import { endpoint } from "../../lib/http/endpoint.ts";
import { answerFlag, FLAG_PATH, flagErrorFormat } from "../../lib/http/ofrep.ts";
import { contextSchema, successSchema } from "../../lib/http/ofrep_schemas.ts";

/** POST /ofrep/v1/evaluate/flags/<key>: the value of a target for a tenant, in OpenFeature's remote evaluation protocol. */
export const evaluateFlag = endpoint(
  {
    method: "POST",
    path: FLAG_PATH,
    rest: true,
    summary: "One value as a feature flag",
    operation: "evaluateFlag",
    description: "OpenFeature's remote evaluation of one flag, for the tenant in the targeting key.",
    example: { key: "limits.seats", context: { targetingKey: "t-100" } },
    product: true,
    reads: true,
    json: true,
    input: z.looseObject({
      key: z.string().describe("The target; slashes need not be encoded."),
      context: contextSchema.optional(),
    }),
    output: successSchema,
    errorFormat: flagErrorFormat,
  },
  answerFlag,
);
