/** Schemas of changes that wait for people: for consent, for an apply, or for a review. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { changeSchema } from "./rules/change.ts";
import { gateSchema } from "./rules/gates.ts";
import { missingSchema } from "./rules/missing_consents.ts";

/** A change that waits for consent or for its apply. */
export const awaitingChangeSchema = once(() =>
  changeSchema()
    .pick({
      change_id: true,
      status: true,
      tier: true,
      target: true,
      summary: true,
      expected_delta_k: true,
      affected_users: true,
      unstated: true,
      sets_nothing: true,
      value_hint: true,
      apply_when: true,
      automation_stopped: true,
      proposer_kind: true,
      asked_by: true,
      required_approvers: true,
      approvals: true,
    })
    .extend({
      missing: z.array(missingSchema()).describe("Missing consents, by rule."),
      blocked_by: z.array(gateSchema()).describe("Gates of its apply now."),
    })
    .describe("A change that waits for consent or for its apply."),
);

/** A change whose emergency consent is to be reviewed. */
export const changeToReviewSchema = once(() =>
  changeSchema().pick({
    change_id: true,
    status: true,
    tier: true,
    target: true,
    summary: true,
    review: true,
  }),
);
