/** ProductIntent: which product is governed, and by which rules. Read at start, never written by the service. */
import * as z from "zod";
import type { Sha256 } from "../../kit/platform.ts";
import { JsonRefused, parseStrictJson } from "../../kit/strict_json.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { KINDS, RISKS } from "./change.ts";
import { sameName } from "./names.ts";

/** The six KPIs of the specification; a feed may always name them. */
export const STANDARD_KPIS = [
  "nrr_quarterly",
  "deal_win_rate",
  "sales_cycle_days_p50",
  "weekly_active_sales_pct",
  "csat",
  "incident_rate",
] as const;

const filled = z.string("must be text").refine((text) => text.trim() !== "", "must not be empty");
const finite = z.number("must be a finite number");
const count = (min: number) =>
  z.int(`must be a whole number of ${min} or more`).min(min, `must be a whole number of ${min} or more`);
const list = <T extends z.ZodType>(item: T) => z.array(item, "must be a list");
const object = <T extends z.ZodRawShape>(shape: T) => z.looseObject(shape, "must be an object");
const kpiName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a lower-case word of letters, digits and _")
  .refine((name) => !(name in {}), "is a reserved word");

const kpiSchema = object({
  baseline: finite,
  target: finite,
  weight: finite.positive("must be above 0").default(1),
});

/** Rules that are absent forbid nothing, except in `minor`, where kinds and targets that are not named are not covered. */
export const policySchema = object({
  minor: object({
    kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`)).default([]),
    targets: list(filled).default([]),
    max_affected_users: count(0).optional(),
    max_risk: z.enum(RISKS, `must be one of ${RISKS.join(", ")}`).default("low"),
    max_per_day: count(0).optional(),
  }).optional(),
  required_approvers: object({ standard: count(1).default(1), major: count(1).default(1) }).default({
    standard: 1,
    major: 1,
  }),
  approvers: list(filled.transform(sameName)).optional(),
  self_approval: z.boolean("must be true or false").default(true),
  consent_ttl_hours: finite.positive("must be above 0").optional(),
  on_conflict: z.enum(["report", "block"], "must be report or block").default("report"),
  forbidden_targets: list(filled).default([]),
  guardrails: list(
    object({
      kpi: kpiName,
      max_regression: finite.min(0, "must be 0 or more"),
      action: z.enum(["alert", "rollback"], "must be alert or rollback"),
    }),
  ).default([]),
});

const intentSchema = object({
  product_id: filled,
  product_type: filled.optional(),
  version: filled,
  approved_by: filled,
  update_epoch: z.int("must be a whole number above 0").positive("must be a whole number above 0"),
  kpis: z.record(kpiName, kpiSchema, "must be an object").default({}),
  policy: policySchema.prefault({}),
});

/** A validated intent with its defaults filled in. */
export type Intent = z.output<typeof intentSchema>;
/** The intent's rules with their defaults filled in. */
export type Policy = Intent["policy"];
/** Baseline, target and weight of one KPI. */
export type KpiGoal = Intent["kpis"][string];
/** What to do when a KPI worsens after a change. */
export type Guardrail = Policy["guardrails"][number];

/** The file is not an intent; the message names each field and its rule. */
export class IntentInvalid extends Error {
  override readonly name = "IntentInvalid";
}

/** Reads an intent's JSON text; throws `IntentInvalid`. The hash is that of its canonical text, every member in it. */
export function loadIntent(text: string, sha256: Sha256): { intent: Intent; manifest: string; manifest_hash: string } {
  let stated: unknown;
  try {
    stated = parseStrictJson(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof JsonRefused) throw new IntentInvalid(`the product intent ${error.message}`);
    throw error;
  }
  const parsed = intentSchema.safeParse(stated);
  if (!parsed.success) {
    const rules = parsed.error.issues.map((issue) => {
      const field = issue.path.join(".") || "the product intent";
      const absent = issue.code === "invalid_type" && !hasPath(stated, issue.path);
      return `${field} ${absent ? "is required" : issue.message}`;
    });
    throw new IntentInvalid(rules.join("; "));
  }
  const manifest = canonicalJson(stated);
  return { intent: parsed.data, manifest, manifest_hash: sha256(manifest) };
}

function hasPath(value: unknown, path: readonly PropertyKey[]): boolean {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return true;
}

/** The KPIs a feed may name under this intent. */
export const kpiNames = (intent: Intent): string[] => [...new Set([...STANDARD_KPIS, ...Object.keys(intent.kpis)])];
