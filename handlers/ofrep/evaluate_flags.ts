import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { textAnswer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { alreadyHas, notModified } from "../../lib/http/if_none_match.ts";
import { bulkRefusals, evaluateFlags as evaluate, tooManyFlags } from "../../lib/http/ofrep.ts";
import { contextSchema, flagSchema, readContext } from "../../lib/http/ofrep_schemas.ts";

/** POST /ofrep/v1/evaluate/flags: what every target should be for a tenant, as OpenFeature's web providers ask for it. */
export const evaluateFlags = endpoint(
  {
    method: "POST",
    path: "/ofrep/v1/evaluate/flags",
    summary: "All values of a tenant as feature flags",
    operation: "evaluateFlags",
    description: "OpenFeature's remote evaluation of all flags, for the tenant in the targeting key.",
    example: { context: { targetingKey: "t-100" } },
    product: true,
    reads: true,
    json: true,
    // Providers that refetch after an event name the configuration that they want; the answer is always the newest.
    ignoredQuery: ["flagConfigEtag", "flagConfigLastModified"],
    input: z.looseObject({ context: contextSchema.optional() }),
    output: z.object({
      flags: z.array(flagSchema).describe("Each target, by key."),
    }),
    notModified: true,
    refusals: bulkRefusals,
  },
  async ({ context }, { deps, request }: Call<ChangesDeps>) => {
    const outcomes = await evaluate(deps, readContext(context, deps.ofrepTenant));
    if (!outcomes) return tooManyFlags();
    const { text, tag } = outcomes;
    return alreadyHas(request)?.(tag) ? notModified(tag) : textAnswer(text, 200, { etag: tag });
  },
);
