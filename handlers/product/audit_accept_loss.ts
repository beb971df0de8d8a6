import * as z from "zod";
import { acceptLoss } from "../../lib/changes/accept_loss.ts";
import {
  ACT_ERRORS,
  acceptLossAnswer,
  actFields,
  actTerms,
  lossFields,
} from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";

/** POST /api/product/audit/accept-loss: the log goes on from where it is, though it lost its end. */
export const auditAcceptLoss = endpoint(
  {
    ...actTerms,
    path: "/api/product/audit/accept-loss",
    summary: "Go on after the log lost its end",
    operation: "acceptLoss",
    description:
      "After a failover or rewind that lost entries: records what was lost, lifts the breach and freezes the service. Earlier consents no longer count.",
    example: {
      actor: "ops@acme.example",
      note: "The failover of 09:12 lost three seconds.",
      length: 1190,
      head: "a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e",
    },
    input: () => z.strictObject({ ...actFields(), ...lossFields() }),
    output: acceptLossAnswer,
    errors: [...ACT_ERRORS, "illegal_transition", "chain_broken"],
  },
  (input, call: Call<ChangesDeps>) => acceptLoss(call, input),
);
