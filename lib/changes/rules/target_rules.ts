/** Rules for the values of targets, as an intent states them: schemas and limits of steps. */
import * as z from "zod";
import { line } from "../../kit/fields.ts";
import { list, strictObject } from "./fields.ts";
import { finiteNumber, targetPattern } from "./intent_parts.ts";
import { listTypes, memberNameSchema, valueSchema } from "./value_schema.ts";

/** A leap year: older values are no base for a step. */
const MAX_STEP_HOURS = 8784;
const MAX_RULES = 200;

const memberPath = () =>
  z
    .string("must be text")
    .max(200, "must have 200 characters at most")
    .refine(
      (path) => path.split(".").every((name) => memberNameSchema().safeParse(name).success),
      "must be a path of members such as limits.seats",
    );

/** The limit of a step, as a rule states it. */
export const maxStepSchema = () =>
  strictObject({
    relative: finiteNumber().positive("must be above 0").optional().describe("As a part of the base: 0.05 is 5 %."),
    absolute: finiteNumber().positive("must be above 0").optional().describe("In units of the value."),
    hours: finiteNumber()
      .positive("must be above 0")
      .max(MAX_STEP_HOURS, `must be ${MAX_STEP_HOURS} or less`)
      .default(24)
      .describe("The base is the value that the target had so many hours before."),
    members: list(memberPath())
      .min(1, "must name a member, or be left out")
      .optional()
      .describe("Numbers within the value, such as limits.seats; absent: the value itself."),
  }).check(({ value, issues }) => {
    const stated = (["relative", "absolute"] as const).filter((field) => value[field] !== undefined);
    if (stated.length !== 1) issues.push({ code: "custom", input: value, message: "must have relative or absolute" });
  });

/** Rules for values; a value must satisfy all rules that match its target. */
export const targetRulesSchema = () =>
  list(
    strictObject({
      match: list(targetPattern()).min(1, "must name a target").describe("Targets; * stands for any characters."),
      schema: valueSchema().optional().describe("What a value must match; a subset of JSON Schema 2020-12."),
      max_step: maxStepSchema().optional().describe("How far a number may move from what the target held before."),
      unit: line(20).optional().describe("The unit of the value, for display."),
      kpi_required: z
        .boolean("must be true or false")
        .optional()
        .describe("Whether a change must name the KPI that it is to move."),
    }).check(({ value, issues }) => {
      const { match: _, ...rules } = value;
      const report = (message: string, path: string[] = []) =>
        issues.push({ code: "custom", input: value, path, message });
      if (Object.values(rules).every((rule) => rule === undefined || rule === false)) report("has no rule");
      // Undefined: any type is allowed.
      const types = value.schema && listTypes(value.schema);
      if (!value.max_step || !types) return;
      const needed = value.max_step.members ? ["object"] : ["number", "integer"];
      if (!types.some((type) => needed.includes(type)))
        report(`needs a value of the type ${needed.join(" or ")}, which schema excludes`, ["max_step"]);
    }),
  ).max(MAX_RULES, `must have ${MAX_RULES} rules at most`);

/** One rule for the values of targets. */
export type TargetRule = z.output<ReturnType<typeof targetRulesSchema>>[number];
/** A limit of a step. */
export type MaxStep = NonNullable<TargetRule["max_step"]>;
