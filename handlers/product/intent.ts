import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { intentSummary, readIntentView } from "../../lib/operations/intent_view.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/intent: the intent in force. */
export const intent = endpoint(
  {
    method: "GET",
    path: "/api/product/intent",
    summary: "The product intent in force",
    operation: "getIntent",
    description: "The intent that governs this instance, with its target systems.",
    example: {},
    ownReads: "neutral",
    product: true,
    input: () => z.object({}),
    output: intentSummary,
  },
  async (_input, { deps }: Call<ChangesDeps>) => answer(await readIntentView(deps)),
);
