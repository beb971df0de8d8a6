/**
 * The field `stages` of a change: the steps of its rollout, the watched KPIs, the agent that feeds samples, and the attribute that
 * distinguishes users.
 */
import * as z from "zod";
import { line, personName } from "../kit/fields.ts";
import { once } from "../kit/once.ts";
import { BUCKETS } from "./bucket.ts";
import type { Plan, Step } from "./plan.ts";

const MAX_STEPS = 20;
const MAX_WATCHED = 20;
/** Squares of larger bounds would lose too much precision. */
const MAX_BOUND = 1e15;
/** One leap year. */
const MAX_HOURS = 8784;

/** Steps of `"steps": "default"`. */
const DEFAULT_STEPS: readonly Step[] = [
  { share: 100, advance: "budget", min_hours: 24 },
  { share: 1000, advance: "budget", min_hours: 24 },
  { share: 5000, advance: "proven", min_hours: 24 },
  { share: 9500, advance: "unless_worse", min_hours: 168, min_users: 500 },
];

const finite = () => z.number("must be a finite number");

const bounds = () =>
  z
    .tuple([finite(), finite()], "must be the lowest and the highest value of a user")
    .refine(([low, high]) => low < high, "must have its lower value first")
    .refine((values) => values.every((value) => Math.abs(value) <= MAX_BOUND), "must be between -1e15 and 1e15");

const hours = () => finite().min(0, "must be 0 or more").max(MAX_HOURS, `must be ${MAX_HOURS} or less`);

const stepSchema = () =>
  z
    .strictObject({
      share: z
        .int("must be a whole number")
        .min(1, "must be 1 or more")
        .max(BUCKETS - 1, `must be below ${BUCKETS}: after the last step everybody gets the value`)
        .describe("Share of users who get the value, of 10,000."),
      advance: z
        .enum(["budget", "proven", "unless_worse", "manual"], "must be budget, proven, unless_worse or manual")
        .describe("Condition of the next step."),
      min_hours: hours().describe("Hours that it lasts at least."),
      min_users: z.int("must be a whole number").min(2, "must be 2 or more").optional().describe("Users in each arm."),
    })
    .refine(({ advance, min_users }) => (advance === "unless_worse") === (min_users !== undefined), {
      path: ["min_users"],
      message: "belongs to unless_worse, which needs it",
    });

const watchedSchema = () =>
  z
    .strictObject({
      kpi: z
        .string("must be text")
        .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a lower-case word of letters, digits and _")
        // Such as `constructor`: figures are stored as members of an object, by KPI.
        .refine((name) => !(name in {}), "is a reserved word"),
      kind: z.enum(["binary", "mean", "ratio"], "must be binary, mean or ratio"),
      good: z.enum(["up", "down"], "must be up or down"),
      allowed: z
        .union([
          finite().min(0, "must be 0 or more"),
          z.strictObject({ relative: finite().min(0, "must be 0 or more") }),
        ])
        .describe("How much worse it may become."),
      bounds: bounds().optional().describe("Where the feeder cuts a user's value."),
      per_bounds: bounds().optional().describe("The same of the denominator."),
    })
    .check(({ value, issues }) => {
      const addIssue = (field: string, message: string) =>
        issues.push({ code: "custom", input: value, path: [field], message });
      const { kind, per_bounds, allowed } = value;
      const valueBounds = value.bounds;
      if ((kind === "binary") !== (valueBounds === undefined))
        addIssue("bounds", "are needed, except for a binary KPI");
      if ((kind === "ratio") !== (per_bounds !== undefined))
        addIssue("per_bounds", "belong to a ratio, which needs them");
      if (per_bounds && per_bounds[0] <= 0) addIssue("per_bounds", "must be above 0");
      if (typeof allowed === "object" && valueBounds && valueBounds[0] < 0)
        addIssue("bounds", "must be 0 or more where allowed is relative");
    });

/** The schema of `stages`; `"default"` is replaced by the default steps, so that the digest covers them. */
export const stagesSchema = once(() =>
  z.strictObject(
    {
      unit: line(100).default("userId").describe("Attribute that distinguishes users."),
      fed_by: personName().describe("The agent that feeds samples."),
      max_silent_hours: finite()
        .positive("must be above 0")
        .max(MAX_HOURS)
        .default(24)
        .describe("Longer silence holds."),
      users_a_day: z.int().min(1, "must be 1 or more").optional().describe("Expected users a day, for an estimate."),
      steps: z
        .union([
          z.literal("default").transform((): Step[] => DEFAULT_STEPS.map((step) => ({ ...step }))),
          z.array(stepSchema()).min(1, "must have a step").max(MAX_STEPS, `must have ${MAX_STEPS} steps at most`),
        ])
        .refine(
          (steps) => steps.every(({ share }, at) => at === 0 || share > steps[at - 1]!.share),
          "must have shares that grow",
        ),
      watch: z
        .array(watchedSchema(), "must be a list")
        .min(1, "must name a KPI")
        .max(MAX_WATCHED, `must have ${MAX_WATCHED} KPIs at most`)
        .refine((watch) => new Set(watch.map(({ kpi }) => kpi)).size === watch.length, "must name each KPI once"),
    },
    "must be a plan of a rollout",
  ),
);

/** The stages of a rollout as they are proposed, consented to and hashed. */
export type Stages = z.output<ReturnType<typeof stagesSchema>>;

/** Returns the part of the stages that the rule decides by. */
export const toPlan = ({ steps, watch, max_silent_hours }: Stages): Plan => ({ steps, watch, max_silent_hours });
