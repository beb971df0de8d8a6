/** A ChangeProposal: its fields. */
import * as z from "zod";
import { PROPOSER_KINDS } from "./actor.ts";

export const KINDS = ["config", "workflow", "feature_flag", "code_patch", "experiment"] as const;
export const TIERS = ["minor", "standard", "major"] as const;
export const RISKS = ["low", "medium", "high"] as const;
export const STATUSES = ["proposed", "pending_consent", "approved", "applied", "rolled_back", "denied"] as const;
export const RESOLUTIONS = ["denied", "withdrawn", "expired", "revoked", "lapsed"] as const;

export type Kind = (typeof KINDS)[number];
export type Tier = (typeof TIERS)[number];
export type Risk = (typeof RISKS)[number];
export type Status = (typeof STATUSES)[number];
export type Resolution = (typeof RESOLUTIONS)[number];

const time = z.iso.datetime();

/** One consent given: distinct names count. */
export const approvalSchema = z.object({
  approver: z.string(),
  note: z.string(),
  at: time,
  /** Given in an emergency, for which alone it counts. */
  emergency: z.literal(true).optional(),
  /** The key that signed it; absent where none did. */
  key: z.string().optional(),
});
export type Approval = z.infer<typeof approvalSchema>;

export const REVIEW_VERDICTS = ["accepted", "not_accepted"] as const;
export type Verdict = (typeof REVIEW_VERDICTS)[number];

/** The review of an emergency consent; `verdict` is `null` while it is due. */
const reviewSchema = z.object({
  due_at: time,
  verdict: z.enum(REVIEW_VERDICTS).nullable(),
  approver: z.string().nullable(),
  note: z.string().nullable(),
  at: time.nullable(),
});

/** The change as clients see it. Times are RFC 3339 in UTC; what nobody stated is `null`, never an invented 0. */
export const changeSchema = z.object({
  change_id: z.string(),
  tenant_id: z.string(),
  kind: z.enum(KINDS),
  target: z.string(),
  /** What `target` is set to, any JSON; absent when the change sets nothing. */
  value: z.unknown().optional(),
  summary: z.string(),
  rationale: z.string(),
  expected_delta_k: z.number().nullable(),
  affected_users: z.number().int().nullable(),
  reversible: z.boolean(),
  tier: z.enum(TIERS),
  risk: z.enum(RISKS),
  /** The KPI that `expected_delta_k` is about. */
  kpi: z.string().nullable(),
  proposer: z.string().nullable(),
  /** Absent where an earlier version recorded the change. */
  proposer_kind: z.enum(PROPOSER_KINDS).optional(),
  /** Of a model's draft: who asked for it. */
  asked_by: z.string().nullable().optional(),
  status: z.enum(STATUSES),
  /** Why a `denied` change ended; `null` otherwise. */
  resolution: z.enum(RESOLUTIONS).nullable(),
  created_at: time,
  /** Who decided last, and the note given with it. */
  approver: z.string().nullable(),
  approval_note: z.string().nullable(),
  approvals: z.array(approvalSchema),
  required_approvers: z.number().int(),
  decided_at: time.nullable(),
  applied_at: time.nullable(),
  rolled_back_at: time.nullable(),
  /** The change that this one puts in force again, where its proposer says so. */
  supersedes: z.string().optional(),
  /** Absent unless it was approved in an emergency. */
  review: reviewSchema.optional(),
  /** Once its content was erased: when, by which entry, and the SHA-256 of what is left of it. */
  erased: z.object({ at: time, entry: z.number().int(), digest: z.string() }).optional(),
  /** SHA-256 of the content that consent is given to. */
  digest: z.string(),
  /** Rises with every step; the ETag. */
  revision: z.number().int(),
});
export type Change = z.infer<typeof changeSchema>;
