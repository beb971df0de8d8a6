/** The rule `policy.mandates`: which mandates people may sign, and their upper bounds. */
import * as z from "zod";
import { list, strictObject } from "./fields.ts";
import { integer, finiteNumber, targetPattern } from "./intent_parts.ts";

/** The field `policy.mandates`. */
export const mandatesRule = () =>
  strictObject({
    targets: list(targetPattern()).min(1, "must name a target").describe("Targets that a mandate may cover."),
    max_days: finiteNumber()
      .positive("must be above 0")
      .max(366, "must be 366 or less")
      .default(30)
      .describe("Most days from a mandate's draft to its end."),
    max_per_day: integer(1).default(50).describe("Most changes that a mandate approves on a UTC day."),
    max_open: integer(1)
      .default(20)
      .describe("Most changes that a mandate has approved and that are neither applied nor denied."),
    apply_when: z
      .boolean("must be true or false")
      .default(false)
      .describe("Whether a mandate also approves changes that apply by themselves."),
  }).describe("Which mandates people may sign; absent: none, and no mandate is active.");

/** The rule for mandates. */
export type MandatesRule = z.output<ReturnType<typeof mandatesRule>>;

/** Describes the rule in a sentence; empty without one. */
export function describeMandates({ mandates }: { mandates?: MandatesRule | undefined }): string[] {
  if (!mandates) return [];
  const { targets, max_days, max_per_day, max_open, apply_when } = mandates;
  return [
    `people may sign a mandate, under which an agent's changes of ${targets.join(", ")} need no further consent: for ${max_days} days, ${max_per_day} changes a UTC day and ${max_open} open ones at most${apply_when ? ", also where they apply by themselves" : ""}`,
  ];
}
