import * as z from "zod";
import { acceptClock } from "../../lib/changes/accept_clock.ts";
import { ACT_ERRORS, acceptClockAnswer, actFields, actTerms } from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";

/** POST /api/product/audit/accept-clock: entries are dated by the clock as it is, though the last one is dated later. */
export const auditAcceptClock = endpoint(
  {
    ...actTerms,
    path: "/api/product/audit/accept-clock",
    summary: "Date entries by the clock as it is",
    operation: "acceptClock",
    description:
      "After a clock ran ahead: writes one entry after which times may step back, so that governed writes are taken again.",
    example: { actor: "ops@acme.example", note: "The clock ran a day ahead until 09:00." },
    input: () => z.strictObject(actFields()),
    output: acceptClockAnswer,
    errors: [...ACT_ERRORS, "illegal_transition"],
  },
  (input, call: Call<ChangesDeps>) => acceptClock(call, input),
);
