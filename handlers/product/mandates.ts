import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { narrowMandate, revokeMandate } from "../../lib/changes/mandates/narrow_revoke.ts";
import { draftMandate } from "../../lib/changes/mandates/draft.ts";
import { listMandates, showMandate } from "../../lib/changes/mandates/list.ts";
import { resumeMandate, signMandate } from "../../lib/changes/mandates/sign.ts";
import { boundSchemas, fromSchema, MANDATE_STATES, narrowSchema } from "../../lib/changes/rules/mandate.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import {
  MANDATE_ID,
  mandateAnswer,
  mandateFields,
  mandateReply,
  mandateSchema,
  mandateTerms,
  revokedAnswer,
} from "../../lib/http/mandate_answers.ts";
import { respond } from "../../lib/http/replies.ts";
import { changeId, freeText, personName, integer, word } from "../../lib/kit/fields.ts";

const APPROVER = "ana@acme.example";

/** GET /api/product/mandates: mandates and drafts, oldest first. */
export const mandates = endpoint(
  {
    method: "GET",
    path: "/api/product/mandates",
    summary: "Mandates",
    operation: "listMandates",
    description: "Mandates and drafts, oldest first.",
    example: { state: "active", limit: 50 },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        state: word(MANDATE_STATES).optional().describe("Only mandates with this status."),
        agent: personName().optional().describe("Only mandates of this agent."),
        limit: integer(1, 100).default(50).describe("Maximum number."),
        after: changeId().optional().describe("Only mandates after this id: next of the previous page."),
      }),
    output: () =>
      z.object({
        mandates: z.array(mandateSchema()).describe("Mandates, oldest first."),
        next: z.string().nullable().describe("after of the next page; null at the end."),
      }),
  },
  async (input, { deps }: Call<ChangesDeps>) => answer(await listMandates(deps, input)),
);

/** GET /api/product/mandates/<id>: a mandate, and the changes that it approved. */
export const mandate = endpoint(
  {
    method: "GET",
    path: "/api/product/mandates/:mandate_id",
    summary: "One mandate",
    operation: "getMandate",
    description: "A mandate with the changes that it approved, newest first, and its entries.",
    example: { mandate_id: MANDATE_ID },
    ownReads: "filtered",
    product: true,
    input: () => z.object({ mandate_id: changeId().describe("Id of the mandate.") }),
    output: () =>
      mandateSchema().extend({
        changes: z
          .array(z.record(z.string(), z.string()))
          .describe("The newest 100 changes: change_id, at, target, tenant_id, summary, status."),
        audit_entries: z.array(entrySchema()).describe("Audit entries, oldest first."),
      }),
    errors: ["mandate_not_found"],
  },
  async ({ mandate_id }, { deps }: Call<ChangesDeps>) => answer(await showMandate(deps, mandate_id)),
);

/** POST /api/product/mandates: creates a draft for people to sign. */
export const mandateDraft = endpoint(
  {
    method: "POST",
    path: "/api/product/mandates",
    summary: "Draft a mandate",
    operation: "draftMandate",
    description: "Creates the draft of a mandate, which has no effect until people have signed it.",
    example: {
      agent: "agent:pricing",
      targets: ["price.*"],
      kinds: ["config"],
      tenants: ["t-100"],
      limits: { max_step: { relative: 0.05 } },
      until: "2027-01-02T08:00:00Z",
    },
    product: true,
    token: true,
    input: () =>
      z.strictObject({
        agent: personName().describe("An agent of the intent."),
        ...boundSchemas(),
        from: fromSchema(),
        note: freeText(4000).optional().describe("Purpose, for the signers."),
        actor: personName().optional().describe("Author; absent: the proxy's person."),
      }),
    jsonFields: ["targets", "kinds", "tenants", "limits", "kpi_floor", "max_affected_users", "max_per_day", "max_open"],
    output: mandateSchema,
    success: 201,
    errors: ["mandate_not_allowed", "too_many_open", "identity_mismatch", "idempotency_key_reused"],
  },
  (input, call: Call<ChangesDeps>) =>
    respond(
      call,
      (caller) => draftMandate(caller, input),
      ({ mandate: drafted }) => ({ status: 201, members: drafted }),
    ),
);

/** POST /api/product/mandate-sign: signs a draft. */
export const mandateSign = endpoint(
  {
    ...mandateTerms,
    path: "/api/product/mandate-sign",
    summary: "Sign a mandate",
    operation: "signMandate",
    description: "Signs a draft. The last required signature makes it active.",
    example: { mandate_id: MANDATE_ID, approver: APPROVER },
    input: () => z.strictObject(mandateFields()),
    jsonFields: ["proof"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => signMandate(caller, input), mandateReply),
);

/** POST /api/product/mandate-resume: signs the resumption of a suspended mandate. */
export const mandateResume = endpoint(
  {
    ...mandateTerms,
    path: "/api/product/mandate-resume",
    summary: "Resume a mandate",
    operation: "resumeMandate",
    description: "Signs the resumption of a suspended mandate; it needs the same quorum as a new one.",
    example: { mandate_id: MANDATE_ID, approver: APPROVER },
    input: () => z.strictObject(mandateFields()),
    jsonFields: ["proof"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => resumeMandate(caller, input), mandateReply),
);

/** POST /api/product/mandate-revoke: ends a mandate. */
export const mandateRevoke = endpoint(
  {
    ...mandateTerms,
    output: revokedAnswer,
    path: "/api/product/mandate-revoke",
    summary: "Revoke a mandate",
    operation: "revokeMandate",
    description: "Ends a mandate, or removes an unsigned draft. Its unapplied changes then need people's consent.",
    example: { mandate_id: MANDATE_ID, approver: APPROVER },
    input: () => z.strictObject(mandateFields()),
    jsonFields: ["proof"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => revokeMandate(caller, input), mandateReply),
);

/** POST /api/product/mandate-narrow: makes bounds of a mandate smaller. */
export const mandateNarrow = endpoint(
  {
    ...mandateTerms,
    output: mandateAnswer,
    path: "/api/product/mandate-narrow",
    summary: "Narrow a mandate",
    operation: "narrowMandate",
    description: "Makes bounds of a signed mandate smaller.",
    example: { mandate_id: MANDATE_ID, approver: APPROVER, narrow: { max_per_day: 5 } },
    input: () =>
      z.strictObject({
        ...mandateFields(),
        narrow: narrowSchema().describe("The bounds that change."),
      }),
    jsonFields: ["proof", "narrow"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => narrowMandate(caller, input), mandateReply),
);
