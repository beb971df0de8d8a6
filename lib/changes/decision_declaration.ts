/** What the endpoints of decisions declare alike: on a change, and on the service itself. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { entrySchema } from "../audit/entry.ts";
import { changeId, freeText, personName, wholeNumber } from "../http/form.ts";
import { decisionAnswer } from "./answers.ts";
import { proofFields } from "./proof_input.ts";
import { freezeSchema } from "./rules/freeze.ts";

/** What each of them may be refused for. */
const REFUSALS = ["proof_required", "proof_invalid", "identity_mismatch", "idempotency_key_reused"] as const;
const terms = { method: "POST", product: true, token: true, jsonFields: ["proof"] } as const;
const fields = () => ({ note: freeText(4000).optional().describe("Why, for the record."), ...proofFields() });

/** A decision on one change. */
export const decisionTerms = { ...terms, output: decisionAnswer } as const;

/** Its fields, beside the name of who decides. */
export const decisionFields = () => ({ change_id: changeId().describe("Id of the change."), ...fields() });

/** Its errors, beside those of the decision. */
export const DECISION_ERRORS = ["change_not_found", "illegal_transition", ...REFUSALS, "version_mismatch"] as const;

/** An act on the service itself. */
export const actTerms = terms;

/** What a freeze and what lifts it are answered with. */
export const freezeAnswer = once(() =>
  z
    .object({
      frozen: z.boolean().describe("Whether applies are held back now."),
      freeze: freezeSchema().nullable().describe("The freeze; null when there is none."),
      audit_entry: entrySchema(),
    })
    .describe("Whether applies are held back, with the receipt."),
);

/** What the acceptance of the clock is answered with: the moment from which entries are dated on, and the last one before. */
export const acceptClockAnswer = once(() =>
  z.object({
    at: z.string().meta({ description: "From when entries are dated on.", examples: ["2026-11-20T09:30:00.000Z"] }),
    last: z
      .string()
      .meta({ description: "When the last entry before was dated.", examples: ["2026-11-21T10:00:00.000Z"] }),
    audit_entry: entrySchema(),
  }),
);

/** An end of the log: how many entries it has, and the hash of the last one. */
const endFields = () => ({
  length: wholeNumber(0).describe("How many entries the log has now, as audit/verify says."),
  head: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
    .meta({
      description: "current_hash of its last entry now, hex; 64 zeros without any.",
      examples: ["a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e"],
    }),
});

/** The fields that only an accepted loss has. */
export const lossFields = endFields;

/** Answer to an accepted loss: the end that was known before, and the one that the log goes on from. */
export const acceptLossAnswer = once(() =>
  z.object({
    known: z
      .object({
        length: z.number().int().describe("How many entries the log had."),
        head: z
          .string()
          .nullable()
          .meta({
            description:
              "current_hash of its last entry then; empty where an anchor alone knew of it, null where it is not known how many entries followed.",
            examples: ["3cea5977…"],
          }),
      })
      .describe("The end of the log that was known before."),
    length: z.number().int().describe("How many entries the log has now."),
    head: endFields().head,
    frozen: z.literal(true).describe("The service is frozen until a person unfreezes it."),
    audit_entry: entrySchema(),
  }),
);

/** Its fields. */
export const actFields = () => ({
  actor: personName().optional().describe("Who does this; absent: whom the proxy names."),
  ...fields(),
});

/** Its errors. */
export const ACT_ERRORS = ["not_permitted", ...REFUSALS] as const;
