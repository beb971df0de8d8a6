/** Answers about mandates, and the shared declaration of decisions on them. */
import * as z from "zod";
import { entrySchema } from "../audit/entry.ts";
import type { DraftResult } from "../changes/mandates/draft.ts";
import type { MandateResult } from "../changes/mandates/sign.ts";
import { missingSchema } from "../changes/rules/missing_consents.ts";
import { MANDATE_STATES } from "../changes/rules/mandate.ts";
import { once } from "../kit/once.ts";
import { changeId, freeText, personName } from "../kit/fields.ts";
import { proofFields } from "./proof_fields.ts";
import type { Reply } from "./replies.ts";

/** Numbers of changes by name: today and open. */
const changeCounts = () => z.record(z.string(), z.number());

/** A mandate: its bounds are further members. */
export const mandateSchema = once(() =>
  z
    .looseObject({
      mandate_id: z.string().describe("Its id."),
      revision: z.number().int().describe("Rises when it is narrowed, suspended or ended."),
      state: z.enum(MANDATE_STATES).describe("Its state now."),
      agent: z.string().describe("Its agent."),
      targets: z.array(z.string()).describe("Patterns of its targets."),
      kinds: z.array(z.string()).describe("Kinds of changes."),
      tenants: z.union([z.literal("all"), z.array(z.string())]).describe("A list of tenants, or all."),
      until: z.string().describe("Its end."),
      note: z.string().describe("The note of its draft."),
      systems: z.array(z.looseObject({})).describe("Target systems that it reaches."),
      signatures: z.array(z.record(z.string(), z.string())).describe("Signatures, oldest first: approver and at."),
      missing: z.array(missingSchema()).describe("Signatures that it or its resumption lacks."),
      used: changeCounts().describe("Changes approved today (UTC day), and open: neither applied nor denied."),
      left: changeCounts().describe("The room that is left: today and open."),
      suspension: z.looseObject({}).nullable().describe("Its reason and at; null unless suspended."),
      ended: z.looseObject({}).nullable().describe("Its reason and at; null before."),
      inactive: z.string().nullable().describe("Reason why it approves nothing; null if active."),
    })
    .describe("A mandate: signed, bounded, standing consent. Other bounds are further members."),
);

/** A mandate after a decision, with its receipt. */
export const mandateAnswer = once(() => mandateSchema().extend({ audit_entry: entrySchema() }));

/** A revoked mandate with its receipt; a draft has none. */
export const revokedAnswer = once(() => mandateSchema().extend({ audit_entry: entrySchema().optional() }));

/** The fields of a decision on a mandate. */
export const mandateFields = () => ({
  mandate_id: changeId().describe("Id of the mandate."),
  approver: personName().describe("Signer; absent: the proxy's person."),
  note: freeText(4000).optional().describe("Why, for the record."),
  ...proofFields(),
});

/** Declaration of a decision on a mandate. */
export const mandateTerms = {
  method: "POST",
  callerField: "approver",
  product: true,
  token: true,
  output: mandateAnswer,
  errors: [
    "mandate_not_found",
    "illegal_transition",
    "already_decided",
    "not_an_approver",
    "proof_required",
    "proof_invalid",
    "identity_mismatch",
    "idempotency_key_reused",
  ],
} as const;

/** Replies with a mandate and its receipt. */
export const mandateReply = ({ mandate, entry }: MandateResult | DraftResult): Reply => ({
  members: mandate,
  ...(entry && { entry }),
});

/** The id of a mandate in the examples of the API. */
export const MANDATE_ID = "mdt_0190c9a5-7b1e-7c3d-8f2a-1b2c3d4e5f60";
