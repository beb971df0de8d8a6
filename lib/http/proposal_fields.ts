/** Request fields of a proposal. */
import * as z from "zod";
import { stagesSchema } from "../rollout/stages.ts";
import { changeId, finiteNumber, flag, freeText, line, personName, target, integer, word } from "../kit/fields.ts";
import { applyWhenSchema } from "../changes/rules/apply_when.ts";
import type { ErrorCode } from "../kit/errors.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { KINDS, RISKS, TIERS } from "../changes/rules/change.ts";
import { MAX_ENTRIES, MIN_ENTRIES } from "../changes/rules/require_plan.ts";
import { listKpiNames } from "../changes/rules/intent.ts";
import { STANDARD_KPIS } from "../changes/rules/change_terms.ts";

const SETS_LENGTH = `must have ${MIN_ENTRIES} to ${MAX_ENTRIES} entries`;

/** The fields; the intent defines the KPIs. */
export const proposalFields = ({ product }: Pick<ChangesDeps, "product">) => ({
  tenant_id: line(200).describe("Tenant of the product."),
  kind: word(KINDS).optional().describe("Kind of change; required without promotes."),
  target: target()
    .optional()
    .describe("Setting, flag or workflow in the host product, compared without case; required without promotes."),
  summary: line(500).describe("Summary in one line."),
  rationale: freeText(4000).optional().describe("Reason for approvers."),
  expected_delta_k: finiteNumber().optional().describe("Gain that you expect, in units of the KPI."),
  affected_users: integer(0).optional().describe("How many users it reaches."),
  reversible: flag().optional().describe("Can be undone; absent: not stated. False makes it major; minor needs true."),
  tier: word(TIERS).optional().describe("Requested tier; minor only if the intent covers it. Absent: standard."),
  risk: word(RISKS).optional().describe("Absent: not stated, taken as medium. High is major."),
  value: z.unknown().optional().describe("New value of the target: any JSON; in a form, JSON text."),
  sets: z
    .array(
      z.strictObject({
        tenant_id: line(200).describe("Its tenant."),
        target: target().describe("Its target."),
        value: z.unknown().describe("New value: any JSON."),
      }),
      "must be a list",
    )
    .min(MIN_ENTRIES, SETS_LENGTH)
    .max(MAX_ENTRIES, SETS_LENGTH)
    .optional()
    .describe("Makes it a plan: values that are decided on and applied together; target is its name."),
  kpi: word((product ? listKpiNames(product.intent) : [...STANDARD_KPIS]) as [string, ...string[]])
    .optional()
    .describe("The KPI that expected_delta_k is about."),
  proposer: personName().optional().describe("Proposer; absent: the proxy's person, or the agent."),
  apply_when: applyWhenSchema()
    .optional()
    .describe("When it applies by itself: approved, or a time; absent: a person applies it."),
  stages: z.unknown().pipe(stagesSchema()).optional().describe("The plan of a staged rollout: docs/rollouts.md."),
  promotes: changeId().optional().describe("Id of a change whose kind, target and value to copy for the tenant."),
  supersedes: changeId().optional().describe("Id of an earlier change that this one revises."),
});

/** Checks that a proposal without `promotes` has kind and target. `when` runs them although other fields fail: one error lists all. */
export const proposalChecks = () =>
  (["kind", "target"] as const).map((field) =>
    z.refine<Partial<Record<"promotes" | "kind" | "target", unknown>>>(
      ({ promotes, [field]: stated }) => promotes !== undefined || stated !== undefined,
      {
        path: [field],
        message: "is required",
        when: ({ value }) => typeof value === "object" && value !== null,
      },
    ),
  );

/** Errors of a proposal. */
export const PROPOSAL_ERRORS = [
  "change_not_found",
  "forbidden_target",
  "no_target_system",
  "value_not_allowed",
  "agent_may_not",
  "too_many_open",
  "proof_invalid",
  "proposer_unknown",
  "identity_mismatch",
  "target_conflict",
  "idempotency_key_reused",
] as const satisfies readonly ErrorCode[];

/** Fields of the follow-up for the customers of one tenant, as the specification has them. */
export const followupFields = () => ({
  tenant_id: line(200).describe("Tenant of the customers."),
  affected_users: integer(0).describe("How many users it reaches; the risk follows from it."),
  expected_delta_k: finiteNumber().describe("Gain that you expect."),
  proposer: personName().optional().describe("Proposer; absent: the proxy's person, or the agent."),
});
