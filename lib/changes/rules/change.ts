/** The fields of a change: the specification's ChangeProposal. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import type { Stages } from "../../rollout/stages.ts";
import { PROPOSER_KINDS } from "./actor.ts";
import { KINDS, RESOLUTIONS, RISKS, STATUSES, TIERS, DEFAULTED_FIELDS } from "./change_terms.ts";

export * from "./change_terms.ts";

const time = () => z.iso.datetime();

/** One consent. Only distinct names count towards the quorum. */
export const approvalSchema = once(() =>
  z
    .object({
      approver: z
        .string()
        .meta({ description: "Who consented, as they named themselves.", examples: ["ana@acme.example"] }),
      note: z.string().meta({ description: "Note; may be empty.", examples: ["Checked with support."] }),
      at: time().describe("When it was recorded."),
      emergency: z
        .literal(true)
        .optional()
        .describe("Given in an emergency, for which alone it counts; absent otherwise."),
      seen: z.array(z.string()).optional().describe("Digests of what the approver saw at its places."),
      key: z.string().optional().describe("Id of the signing key; absent if unsigned."),
      idp: z.array(z.string()).optional().describe("Groups of the identity provider that the intent asked for."),
      inactive: z.literal(true).optional().describe("Present if its mandate is not active."),
    })
    .describe("A consent to a change. Different names count towards the quorum."),
);
export type Approval = z.infer<ReturnType<typeof approvalSchema>>;

export const REVIEW_VERDICTS = ["accepted", "not_accepted"] as const;
export type ReviewVerdict = (typeof REVIEW_VERDICTS)[number];

export const LATE_ITEMS = ["rationale", "note"] as const;
/** An item that can be added to a change later. */
export type LateItem = (typeof LATE_ITEMS)[number];

/** A note that was added to a change after its decision. */
export const lateNoteSchema = once(() =>
  z
    .object({
      item: z.enum(LATE_ITEMS).describe("The missing item."),
      note: z.string().describe("The words."),
      actor: z.string().nullable().describe("Who said it."),
      at: time().describe("When."),
    })
    .describe("A note added after the decision."),
);

/** The review of an emergency consent; `verdict` is `null` while it is due. */
export const reviewSchema = once(() =>
  z
    .object({
      due_at: time().describe("By when it should be reviewed."),
      verdict: z.enum(REVIEW_VERDICTS).nullable().describe("Verdict of the review; null while due."),
      approver: z
        .string()
        .nullable()
        .meta({ description: "Who reviewed it; null while it is due.", examples: ["ana@acme.example"] }),
      note: z
        .string()
        .nullable()
        .meta({
          description: "Note of the review; null while due.",
          examples: ["The outage left no choice."],
        }),
      at: time().nullable().describe("When it was reviewed; null while it is due."),
    })
    .describe("The review of an emergency consent."),
);

/** The location of one value that a change sets. */
export const locationSchema = once(() =>
  z
    .object({
      tenant_id: z.string().describe("Its tenant."),
      target: z.string().describe("Its target, as proposed."),
      system: z.string().meta({ description: "Name of the target system.", examples: ["flags"] }),
      place: z.string().meta({
        description: "Type, address without credentials, and key.",
        examples: ['flagd flags.flagd.json "banner"'],
      }),
    })
    .describe("Place where a value is set."),
);
export type TargetLocation = z.infer<ReturnType<typeof locationSchema>>;

/** One target that a plan sets. */
export const planEntrySchema = once(() =>
  z.object({
    tenant_id: z.string().describe("Its tenant."),
    target: z.string().describe("Its target."),
    value: z.unknown().optional().describe("New value: any JSON; absent once erased."),
  }),
);
export type PlanEntry = z.infer<ReturnType<typeof planEntrySchema>>;

/** How far a rollout is, as its entries record it. */
export const exposureSchema = once(() =>
  z
    .object({
      step: z.number().int().describe("Its step, from 0."),
      share: z.number().int().describe("Share of users, of 10,000."),
      since: time().describe("Since when."),
      waits_for: z
        .string()
        .nullable()
        .meta({ description: "Why it waits; null at the end.", examples: ["not_yet"] }),
    })
    .describe("How far the rollout is."),
);

/** A change as clients see it. Times are RFC 3339 in UTC; a number that nobody stated is `null`, not 0. */
export const changeSchema = once(() =>
  z
    .object({
      change_id: z.string().describe("Id of the change: chg_ and a UUIDv7, which sorts by time."),
      tenant_id: z.string().meta({ description: "Tenant of the product.", examples: ["t-100"] }),
      kind: z.enum(KINDS).describe("Kind of change."),
      target: z.string().meta({
        description: "The setting, flag or workflow that it sets; compared without case.",
        examples: ["limits.seats"],
      }),
      value: z.unknown().optional().describe("New value of the target: any JSON; absent when the change sets nothing."),
      summary: z.string().meta({ description: "Summary in one line.", examples: ["Raise the seat limit to 50"] }),
      rationale: z.string().meta({
        description: "Reason for approvers; may be empty.",
        examples: ["Support raises it by hand every week."],
      }),
      expected_delta_k: z
        .number()
        .nullable()
        .describe("Gain that the proposer expects, in units of the KPI; null when not stated."),
      affected_users: z
        .number()
        .int()
        .nullable()
        .describe("How many users it reaches, by the proposer; null when not stated."),
      reversible: z.boolean().describe("Can be undone, by the proposer; a default where unstated names it."),
      tier: z.enum(TIERS).describe("How much consent it needs: minor needs none, major needs as the intent says."),
      risk: z.enum(RISKS).describe("Risk as the proposer states it; medium, where unstated names it, is a default."),
      unstated: z
        .array(z.enum(DEFAULTED_FIELDS))
        .optional()
        .describe("Fields that the proposal left out; they have default values."),
      tier_reason: z.string().optional().describe("Why it is not minor, if minor was requested."),
      sets_nothing: z.literal(true).optional().describe("Present without value: the apply sets nothing."),
      value_hint: z.string().optional().describe("Present if an agent's value is text that looks like JSON."),
      kpi: z
        .string()
        .nullable()
        .meta({
          description: "KPI of expected_delta_k; null without one.",
          examples: ["nrr_quarterly"],
        }),
      proposer: z
        .string()
        .nullable()
        .meta({ description: "Proposer; null if unnamed.", examples: ["bo@acme.example"] }),
      proposer_kind: z.enum(PROPOSER_KINDS).describe("Kind of proposer."),
      asked_by: z.string().nullable().optional().describe("The person who asked a model for it."),
      status: z.enum(STATUSES).describe("Status from proposal to rollback."),
      resolution: z.enum(RESOLUTIONS).nullable().describe("How a denied change came to its end; null otherwise."),
      created_at: time().describe("When it was proposed."),
      approver: z
        .string()
        .nullable()
        .meta({
          description: "Who decided last; policy:minor is the intent itself, null before any decision.",
          examples: ["ana@acme.example"],
        }),
      approval_note: z
        .string()
        .nullable()
        .meta({
          description: "Note of the last decision; null before any.",
          examples: ["Checked with support."],
        }),
      approvals: z.array(approvalSchema()).describe("The consents that were given, oldest first."),
      required_approvers: z.number().int().describe("How many distinct people had to consent when it was proposed."),
      decided_at: time().nullable().describe("When the last decision was made; null before any."),
      applied_at: time().nullable().describe("When the host product confirmed it; null before."),
      rolled_back_at: time().nullable().describe("When it was taken back; null unless it was."),
      apply_when: z
        .string()
        .optional()
        .meta({
          description: "When it applies by itself: approved, or a time; absent: never.",
          examples: ["approved"],
        }),
      automation_stopped: z
        .object({ at: time().describe("When."), reason: z.string().describe("Why.") })
        .optional()
        .describe("Present once it no longer applies by itself."),
      sets: z.array(planEntrySchema()).optional().describe("Entries of a plan."),
      promotes: z.string().optional().describe("The change whose value it promotes."),
      // Loose, so that descriptions of answers stay short; the proposal has checked the plan.
      stages: (z.looseObject({}) as unknown as z.ZodType<Stages>).optional().describe("The plan of its rollout."),
      exposure: exposureSchema().optional(),
      supersedes: z.string().optional().describe("The earlier change that it revises, if stated."),
      places: z.array(locationSchema()).optional().describe("Where each value is set; absent without a target system."),
      seen_by_policy: z.array(z.string()).optional().describe("For a minor change: digests at its proposal."),
      review: reviewSchema().optional(),
      late_notes: z.array(lateNoteSchema()).optional().describe("Notes added later; absent if none."),
      erased: z
        .object({
          at: time().describe("When it was erased."),
          entry: z.number().int().describe("Id of the audit entry that says so."),
          digest: z.string().describe("SHA-256 (hex) of the remaining content."),
        })
        .optional()
        .describe("Present once its content was erased."),
      digest: z.string().meta({
        description: "SHA-256 (hex) of the content that consent is given to.",
        examples: ["9b74c989…"],
      }),
      revision: z.number().int().describe("Rises with every step; the ETag of the change."),
    })
    .describe("A change with its decisions. Fields left out are null, never 0."),
);
export type Change = z.infer<ReturnType<typeof changeSchema>>;
