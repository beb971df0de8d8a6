import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, finiteNumber, flag, freeText, personName, time, integer, word } from "../../lib/kit/fields.ts";
import { observedDigestsField } from "../../lib/http/decision_declaration.ts";
import { statementTime } from "../../lib/http/proof_fields.ts";
import { followupFields, proposalChecks, proposalFields } from "../../lib/http/proposal_fields.ts";
import { makeConsentStatement } from "../../lib/changes/consent_statement.ts";
import { LATE_ITEMS, REVIEW_VERDICTS } from "../../lib/changes/rules/change.ts";
import { STAGE_ACTIONS } from "../../lib/changes/rules/stage_action.ts";
import { DECISIONS } from "../../lib/changes/rules/statement.ts";
import { listKpiNames } from "../../lib/changes/rules/intent.ts";
import { MANDATE_DECISIONS, narrowSchema } from "../../lib/changes/rules/mandate.ts";
import { SERVICE_ACTIONS } from "../../lib/changes/rules/service_action.ts";

/** POST /api/product/consent-statement: the text to sign for a decision; nothing is written. */
export const consentStatementEndpoint = endpoint(
  {
    method: "POST",
    path: "/api/product/consent-statement",
    summary: "Statement to sign for a decision",
    operation: "getConsentStatement",
    description: "The exact text that a passkey or SSH key signs for a decision now. Nothing is written.",
    example: { decision: "approve", approver: "ana@acme.example", change_id: CHANGE_ID },
    product: true,
    token: true,
    callerField: "approver",
    input: (deps: ChangesDeps) =>
      z.strictObject({
        decision: word([...DECISIONS, ...SERVICE_ACTIONS, ...MANDATE_DECISIONS]).describe(
          "The decision on a change, or the action on the service.",
        ),
        approver: personName().describe("The signer: approver, proposer or actor."),
        change_id: changeId()
          .optional()
          .describe("The change that is decided on; absent for a proposal and for most actions."),
        mandate_id: changeId().optional().describe("The mandate that is decided on."),
        narrow: narrowSchema().optional().describe("Bounds of narrowMandate."),
        note: freeText(4000).optional().describe("The note that the decision will carry."),
        verdict: word(REVIEW_VERDICTS).optional().describe("For a review: its verdict."),
        item: word(LATE_ITEMS).optional().describe("The item that a late note adds."),
        step: integer(0).optional().describe("Step of a rollout."),
        action: word(STAGE_ACTIONS).optional().describe("Action on a rollout."),
        seen: observedDigestsField().optional().describe("Digests that go with a consent."),
        over_drift: flag().optional().describe("True for a rollback over drift."),
        kpis: z
          .record(z.string(), finiteNumber())
          .refine((feed) => areKpiNames(deps, feed), "must name KPIs of the intent")
          .optional()
          .describe("Values of a KPI feed."),
        until: time().optional().describe("For a freeze: its end."),
        length: integer(0).optional().describe("For an accepted loss: number of entries in the log now."),
        head: z
          .string()
          .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
          .optional()
          .describe("For an accepted loss: current_hash of the last entry now."),
        at: statementTime().optional().describe("Time in the statement; absent: now."),
        proposal: z
          .strictObject(proposalFields(deps))
          .check(...proposalChecks())
          .optional()
          .describe("The fields of proposeChange; in a form, JSON text."),
        followup: z
          .strictObject(followupFields())
          .optional()
          .describe("The fields of proposeCrmFollowup; in a form, JSON text."),
      }),
    jsonFields: ["proposal", "followup", "seen", "kpis", "narrow"],
    output: () =>
      z.object({
        statement: z.string().meta({
          description: "The exact bytes to sign: RFC 8785 JSON.",
          examples: ['{"approver":"ana@acme.example","v":"countersign-consent/1"}'],
        }),
        content: z.looseObject({}).optional().describe("Content of a proposal, which the digest covers."),
        challenge: z.string().meta({
          description: "SHA-256 of the statement in base64url, for a passkey.",
          examples: ["n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"],
        }),
      }),
    errors: ["change_not_found", "mandate_not_found", "evidence_mismatch", "identity_mismatch"],
  },
  async (input, call: Call<ChangesDeps>) => answer(await makeConsentStatement(call, input)),
);

const areKpiNames = ({ product }: ChangesDeps, feed: object): boolean =>
  Object.keys(feed).every((name) => listKpiNames(product?.intent ?? { kpis: {} }).includes(name));
