/** A mandate: signed, bounded, standing consent to changes of one agent. Its bounds, and the fields that state them. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { KINDS } from "./change_terms.ts";
import { list, strictObject } from "./fields.ts";
import { finiteNumber, integer, targetPattern, tenantList } from "./intent_parts.ts";
import { maxStepSchema, type MaxStep } from "./target_rules.ts";
import { type ValueSchema, valueSchema } from "./value_schema.ts";
import { line } from "../../kit/fields.ts";

/** Prefix of the name under which a mandate approves. */
const MANDATE_PREFIX = "mandate:";

export const mandateApproverName = (mandateId: string): string => MANDATE_PREFIX + mandateId;

/** Returns the mandate that a name stands for; undefined for any other name. */
export const parseMandateName = (name: string | null | undefined): string | undefined =>
  name?.startsWith(MANDATE_PREFIX) ? name.slice(MANDATE_PREFIX.length) : undefined;

export const MANDATE_STATES = ["draft", "active", "suspended", "ended"] as const;
export type MandateState = (typeof MANDATE_STATES)[number];

export const MANDATE_DECISIONS = ["mandate", "mandate_narrow", "mandate_resume", "mandate_revoke"] as const;
export type MandateDecision = (typeof MANDATE_DECISIONS)[number];

/** Limits on the values of a mandate's changes, as a rule of `policy.targets` states them. */
export interface MandateLimits {
  schema?: ValueSchema | undefined;
  max_step?: MaxStep | undefined;
  unit?: string | undefined;
}

/** Bounds of a mandate; an absent one does not bound. */
export interface MandateBounds {
  agent: string;
  targets: readonly string[];
  kinds: readonly string[];
  tenants: readonly string[] | "all";
  limits?: MandateLimits | undefined;
  max_affected_users?: number | undefined;
  max_per_day: number;
  max_open: number;
  kpi_floor?: Readonly<Record<string, number>> | undefined;
  /** RFC 3339; absent: it begins with its last signature. */
  from?: string | undefined;
  until: string;
}

/** The fields of the bounds, in the order in which they are shown. */
export const MANDATE_BOUNDS = [
  "agent",
  "targets",
  "kinds",
  "tenants",
  "limits",
  "max_affected_users",
  "max_per_day",
  "max_open",
  "kpi_floor",
  "from",
  "until",
] as const satisfies readonly (keyof MandateBounds)[];

const limitsSchema = once(() =>
  strictObject({
    schema: valueSchema().optional(),
    max_step: maxStepSchema().optional(),
    unit: line(20).optional(),
  }).refine(({ schema, max_step }) => schema !== undefined || max_step !== undefined, "must have schema or max_step"),
);

const timeSchema = () =>
  z.iso
    .datetime({ offset: true, error: "must be a time such as 2026-12-24T08:00:00Z" })
    .transform((text) => new Date(text).toISOString());

/** The bounds that a draft or a narrowing may state, apart from the agent. */
export const boundSchemas = () => ({
  targets: list(targetPattern()).min(1, "must name a target").max(50).describe("Patterns of targets."),
  kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`))
    .min(1, "must name a kind")
    .describe("Kinds of changes."),
  tenants: z.union([z.literal("all"), tenantList()], "must be a list of tenants, or all").describe("A list, or all."),
  // Descriptions of requests show the input of a pipe: after `unknown`, the nested schema is not part of them.
  limits: z.unknown().pipe(limitsSchema()).optional().describe("Limits of values: schema, max_step, unit."),
  max_affected_users: integer(0).optional().describe("Most users of one change."),
  max_per_day: integer(1).optional().describe("Most changes on a UTC day; absent: the policy's."),
  max_open: integer(1).optional().describe("Most approved and not yet applied; absent: the policy's."),
  kpi_floor: z
    .record(z.string(), finiteNumber(), "must be an object")
    .optional()
    .describe("Values by KPI; a worse feed suspends the mandate."),
  until: timeSchema().describe("Its end."),
});

export const fromSchema = () => timeSchema().optional().describe("Begin; absent: the last signature.");

/** The bounds of a narrowing, each optional; `unknown` as in `limits`. */
export const narrowSchema = () => z.unknown().pipe(z.strictObject(boundSchemas()).partial());
