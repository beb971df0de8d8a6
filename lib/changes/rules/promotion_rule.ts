/** The rule `policy.promotion`: values that must first be applied in another tenant or target system. */
import * as z from "zod";
import { nonEmptyText, list, strictObject } from "./fields.ts";
import { finiteNumber } from "./intent_parts.ts";
import { VERDICTS } from "./outcome_terms.ts";

const SYSTEM_PREFIX = "system:";

const tenantOrSystem = () =>
  nonEmptyText()
    .normalize("NFC")
    .regex(/^(?:tenant|system):\S(?:.*\S)?$/, "must be tenant:<name> or system:<name>");

/** The field `policy.promotion`. */
export const promotionRules = () =>
  list(
    strictObject({
      to: list(tenantOrSystem())
        .min(1, "must name a place")
        .describe("Places whose changes must wait: tenants and systems."),
      from: list(tenantOrSystem())
        .min(1, "must name a place")
        .describe("Places; in one of them the same value must be applied now."),
      soak_hours: finiteNumber()
        .min(0, "must be 0 or more")
        .default(0)
        .describe("For how many hours it must be applied there."),
      verdict_not: list(z.enum(VERDICTS, `must be one of ${VERDICTS.join(", ")}`))
        .default([])
        .describe("Verdicts that the change there must not have."),
    }),
  )
    .default([])
    .describe("Values that must be applied elsewhere first.");

export type PromotionRule = z.output<ReturnType<typeof promotionRules>>[number];

/** Finds the first target system in the rules that does not exist: such a rule would have no effect, or never be met. */
export const findUnknownSystem = (rules: readonly PromotionRule[], systems: readonly string[]): string | undefined =>
  rules
    .flatMap(({ to, from }) => [...to, ...from])
    .filter((place) => place.startsWith(SYSTEM_PREFIX))
    .map((place) => place.slice(SYSTEM_PREFIX.length))
    .find((name) => !systems.includes(name));

/** Returns the rules for changes of a tenant in a target system; `system` undefined: the value is only recorded. */
export const selectPromotionRules = (
  rules: readonly PromotionRule[],
  { tenant_id, system }: { tenant_id: string; system: string | undefined },
): PromotionRule[] =>
  rules.filter(
    ({ to }) =>
      to.includes(`tenant:${tenant_id}`) || (system !== undefined && to.includes(`${SYSTEM_PREFIX}${system}`)),
  );

export const describePromotion = ({ from, soak_hours, verdict_not }: PromotionRule): string =>
  [
    `the same value must be applied in ${from.join(" or ")}`,
    ...(soak_hours > 0 ? [`for ${soak_hours} ${soak_hours === 1 ? "hour" : "hours"}`] : []),
    ...(verdict_not.length > 0 ? [`by a change whose outcome is not ${verdict_not.join(" or ")}`] : []),
  ].join(" ");
