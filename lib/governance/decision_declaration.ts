/** What the endpoints of decisions declare alike: on a change, and on the service itself. */
import * as z from "zod";
import { entrySchema } from "../audit/entry.ts";
import { changeId, freeText, personName } from "../http/form.ts";
import { decisionAnswer } from "./answers.ts";
import { proofFields } from "./proof_input.ts";
import { freezeSchema } from "./rules/freeze.ts";

/** What each of them may be refused for. */
const REFUSALS = ["proof_required", "proof_invalid", "identity_mismatch", "idempotency_key_reused"] as const;
const terms = { method: "POST", product: true, token: true, jsonFields: ["proof"] } as const;
const fields = { note: freeText(4000).optional(), ...proofFields };

/** A decision on one change. */
export const decisionTerms = { ...terms, output: decisionAnswer } as const;

/** Its fields, beside the name of who decides. */
export const decisionFields = { change_id: changeId, ...fields };

/** Its errors, beside those of the decision. */
export const DECISION_ERRORS = ["change_not_found", "illegal_transition", ...REFUSALS, "version_mismatch"] as const;

/** An act on the service itself. */
export const actTerms = terms;

/** What a freeze and what lifts it are answered with. */
export const freezeAnswer = z.object({
  frozen: z.boolean(),
  freeze: freezeSchema.nullable(),
  audit_entry: entrySchema,
});

/** What the acceptance of the clock is answered with: the moment from which entries are dated on, and the last one before. */
export const acceptClockAnswer = z.object({ at: z.string(), last: z.string(), audit_entry: entrySchema });

/** Its fields. */
export const actFields = { actor: personName.optional(), ...fields };

/** Its errors. */
export const ACT_ERRORS = REFUSALS;
