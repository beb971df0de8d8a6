/** Shared parts of declarations: of decisions on a change, and of actions on the service. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { entrySchema } from "../audit/entry.ts";
import { changeId, freeText, personName } from "../kit/fields.ts";
import { freezeSchema } from "../changes/rules/freeze.ts";
import { decisionAnswer } from "./change_answers.ts";
import { proofFields } from "./proof_fields.ts";

/** Errors of all these endpoints. */
const SHARED_ERRORS = ["proof_required", "proof_invalid", "identity_mismatch", "idempotency_key_reused"] as const;
/** Parts of all these declarations. In a form, `proof` is JSON text. */
const sharedTerms = { method: "POST", product: true, token: true, jsonFields: ["proof"] } as const;
const sharedFields = () => ({ note: freeText(4000).optional().describe("Why, for the record."), ...proofFields() });

/** Declaration of a decision on a change. */
export const decisionTerms = { ...sharedTerms, output: decisionAnswer } as const;

/** The fields of a decision on a change, apart from the name of its author. */
export const decisionFields = () => ({ change_id: changeId().describe("Id of the change."), ...sharedFields() });

/** Digests of the values of targets: 64 hex digits, or `absent`. */
export const observedDigestsField = () =>
  z.array(z.string().regex(/^([0-9a-f]{64}|absent)$/, "must be 64 lower-case hex digits, or absent")).max(100);

/** The errors of a decision on a change, apart from those of its type. */
export const DECISION_ERRORS = [
  "change_not_found",
  "illegal_transition",
  ...SHARED_ERRORS,
  "version_mismatch",
] as const;

/** Declaration of an action on the service. */
export const actionTerms = sharedTerms;

/** The answer to a freeze and to its end. */
export const freezeAnswer = once(() =>
  z
    .object({
      frozen: z.boolean().describe("Whether applies are held back now."),
      freeze: freezeSchema().nullable().describe("The freeze; null if none."),
      audit_entry: entrySchema(),
    })
    .describe("Whether applies are held back, with the receipt."),
);

/** The fields of an action on the service. */
export const actionFields = () => ({
  actor: personName().optional().describe("Actor; absent: the proxy's person."),
  ...sharedFields(),
});

/** The errors of an action on the service. */
export const ACTION_ERRORS = ["not_permitted", ...SHARED_ERRORS] as const;
