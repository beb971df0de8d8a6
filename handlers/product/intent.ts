import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { intentSummary, intentView } from "../../lib/pulse/intent_view.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/intent: the intent in force. */
export const intent = endpoint(
  {
    method: "GET",
    path: "/api/product/intent",
    summary: "The product intent in force",
    operation: "getIntent",
    description:
      "The product intent that governs this instance: its rules, who signs with which keys, and how adapter and KPI feed stand.",
    example: {},
    product: true,
    input: () => z.object({}),
    output: intentSummary,
  },
  async (_input, { deps }: Call<GovernanceDeps>) => answer(await intentView(deps)),
);
