import * as z from "zod";
import { askGate } from "../lib/changes/gate/ask_gate.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { gateAnswer, gateFields, gateOutput } from "../lib/http/gate_answer.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";

/** GET /api/gate: tells a deployment tool if people consented to a release. */
export const gate = endpoint(
  {
    method: "GET",
    path: "/api/gate",
    summary: "Ask whether a release is consented to",
    operation: "askGate",
    description: "For the tool that deploys. Writes nothing.",
    example: {
      target: "deploy/42/production",
      tenant_id: "t-100",
      head: "6f1ed002ab5595859014ebf0951522d9c7a4b3f2",
    },
    product: true,
    input: () => z.object(gateFields()),
    output: gateOutput,
    sameBodyStatuses: [403, 503],
    errors: ["no_target_system"],
  },
  async ({ answer, ...question }, call: Call<OperationsDeps>) =>
    gateAnswer(await askGate(call.deps, question), call, answer),
);
