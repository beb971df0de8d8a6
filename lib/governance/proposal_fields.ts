/** The fields in which a proposal states its content. */
import * as z from "zod";
import { changeId, finiteNumber, flag, freeText, line, personName, target, wholeNumber, word } from "../http/form.ts";
import type { ErrorCode } from "../kit/errors.ts";
import type { GovernanceDeps } from "./deps.ts";
import { KINDS, RISKS, TIERS } from "./rules/change.ts";
import { kpiNames, STANDARD_KPIS } from "./rules/intent.ts";

/** Which KPIs there are, the intent says. */
export const proposalFields = ({ product }: Pick<GovernanceDeps, "product">) => ({
  tenant_id: line(200),
  kind: word(KINDS),
  target,
  summary: line(500),
  rationale: freeText(4000).optional(),
  expected_delta_k: finiteNumber.optional(),
  affected_users: wholeNumber(0).optional(),
  reversible: flag.optional(),
  tier: word(TIERS).optional(),
  risk: word(RISKS).optional(),
  value: z.unknown().optional(),
  kpi: word((product ? kpiNames(product.intent) : [...STANDARD_KPIS]) as [string, ...string[]]).optional(),
  proposer: personName.optional(),
  supersedes: changeId.optional(),
});

/** What a proposal may be refused for. */
export const PROPOSAL_ERRORS = [
  "forbidden_target",
  "proof_invalid",
  "proposer_unknown",
  "identity_mismatch",
  "target_conflict",
  "idempotency_key_reused",
] as const satisfies readonly ErrorCode[];

/** Those of the follow-up for the customers of one tenant, as the specification has them. */
export const followupFields = {
  tenant_id: line(200),
  affected_users: wholeNumber(0),
  expected_delta_k: finiteNumber,
  proposer: personName.optional(),
};
