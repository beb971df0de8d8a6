import * as z from "zod";
import { recordDecision } from "../../lib/changes/commands/decide.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { decisionReply } from "../../lib/http/change_replies.ts";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/withdraw: the proposer withdraws a pending change. */
export const withdraw = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/withdraw",
    summary: "Withdraw a pending change",
    operation: "withdrawChange",
    description: "The proposer closes a pending change.",
    example: { change_id: CHANGE_ID, proposer: "bo@acme.example", note: "Superseded by a smaller change." },
    agents: true,
    callerField: "proposer",
    input: () =>
      z.strictObject({
        proposer: personName().describe("Proposer; absent: the proxy's person, or the agent."),
        ...decisionFields(),
      }),
    errors: [...DECISION_ERRORS, "not_the_proposer", "proposer_unknown"],
  },
  ({ proposer, ...input }, call: Call<ChangesDeps>) =>
    respond(call, (caller) => recordDecision(caller, { type: "withdraw", name: proposer, ...input }), decisionReply),
);
