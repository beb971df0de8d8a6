import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { acceptLoss, type LossResult } from "../../lib/changes/commands/accept_loss.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { ACTION_ERRORS, actionFields, actionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { integer } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

const head = () =>
  z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
    .meta({
      description: "current_hash of the last entry now, hex; 64 zeros for an empty log.",
      examples: ["a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e"],
    });

/** POST /api/product/audit/accept-loss: the log continues from its present end, although later entries were lost. */
export const auditAcceptLoss = endpoint(
  {
    ...actionTerms,
    path: "/api/product/audit/accept-loss",
    summary: "Accept that the log lost its end",
    operation: "acceptLoss",
    description: "Accepts entries lost in a failover, and freezes the service. Earlier consents no longer count.",
    example: {
      actor: "ops@acme.example",
      note: "The failover of 09:12 lost three seconds.",
      length: 1190,
      head: "a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e",
    },
    input: () =>
      z.strictObject({
        ...actionFields(),
        length: integer(0).describe("Number of entries of the log now, from audit/verify."),
        head: head(),
      }),
    output: () =>
      z.object({
        known: z
          .object({
            length: z.number().int().describe("Number of entries that the log had."),
            head: z
              .string()
              .nullable()
              .meta({
                description: "current_hash of its last entry; empty: only an anchor reported that end; null: unknown.",
                examples: ["3cea5977…"],
              }),
          })
          .describe("The known end of the log before the loss."),
        length: z.number().int().describe("Number of entries of the log now."),
        head: head(),
        frozen: z.literal(true).describe("The service is frozen until a person unfreezes it."),
        audit_entry: entrySchema(),
      }),
    errors: [...ACTION_ERRORS, "illegal_transition", "chain_broken"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => acceptLoss(caller, input), lossReply),
);

const lossReply = ({ entry, ...end }: LossResult) => ({ members: { ...end, frozen: true }, entry });
