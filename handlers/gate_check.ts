import * as z from "zod";
import { requireGate } from "../lib/changes/gate/ask_gate.ts";
import { checkRelease } from "../lib/changes/gate/check_release.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { gateAnswer, gateFields, gateOutput } from "../lib/http/gate_answer.ts";
import { requireGateCaller } from "../lib/http/gate_caller.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";

/** POST /api/gate: like GET, but the caller identifies itself and the answer is recorded. */
export const gateCheck = endpoint(
  {
    method: "POST",
    path: "/api/gate",
    summary: "Ask for a release, on record",
    operation: "checkRelease",
    description: "As GET; records the answer, once for each caller and head. Needs the admin token or a CI token.",
    example: {
      target: "deploy/42/production",
      tenant_id: "t-100",
      head: "6f1ed002ab5595859014ebf0951522d9c7a4b3f2",
    },
    product: true,
    // The bearer token belongs to a CI job, not an agent, so the handler verifies it together with the fields.
    open: true,
    ignoresPerson: true,
    personOptional: true,
    input: () => z.strictObject(gateFields()),
    output: gateOutput,
    sameBodyStatuses: [403, 503],
    errors: ["no_target_system", "unauthorized"],
  },
  async ({ answer: answerForm, ...question }, call: Call<OperationsDeps>) => {
    const { deps, request } = call;
    requireGate(deps.product!.adapter, question);
    const caller = await requireGateCaller(request, deps, question);
    return gateAnswer(await checkRelease(deps, question, caller), call, answerForm);
  },
);
