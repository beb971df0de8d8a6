import * as z from "zod";
import { freezeService } from "../../lib/changes/commands/freeze.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { freezeReply } from "../../lib/http/change_replies.ts";
import { ACTION_ERRORS, actionFields, actionTerms, freezeAnswer } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { time } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/freeze: stops all applies until the freeze is lifted or ends. */
export const freeze = endpoint(
  {
    ...actionTerms,
    path: "/api/product/freeze",
    summary: "Freeze all applies",
    operation: "freezeService",
    description: "Blocks every apply except emergencies. Rollbacks stay possible.",
    example: { actor: "ops@acme.example", note: "Quarter end", until: "2027-01-02T08:00:00Z" },
    input: () =>
      z.strictObject({
        ...actionFields(),
        until: time().optional().describe("End (RFC 3339); absent: until a person lifts it."),
      }),
    output: freezeAnswer,
    errors: ACTION_ERRORS,
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => freezeService(caller, input), freezeReply),
);
