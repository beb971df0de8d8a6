import * as z from "zod";
import { unfreezeService } from "../../lib/changes/commands/freeze.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { freezeReply } from "../../lib/http/change_replies.ts";
import { ACTION_ERRORS, actionFields, actionTerms, freezeAnswer } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/unfreeze: lifts a freeze. */
export const unfreeze = endpoint(
  {
    ...actionTerms,
    path: "/api/product/unfreeze",
    summary: "Lift a freeze",
    operation: "unfreezeService",
    description: "Ends a freeze, so that approved changes can be applied again.",
    example: { actor: "ops@acme.example", note: "Quarter end is over." },
    input: () => z.strictObject(actionFields()),
    output: freezeAnswer,
    errors: [...ACTION_ERRORS, "illegal_transition"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => unfreezeService(caller, input), freezeReply),
);
