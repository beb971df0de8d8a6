/** The `stages` of a proposal: their defaults, their conversion to the plan of a rollout, and invalid ones. */
import { describe, expect, it } from "vitest";
import { stagesSchema, toPlan } from "../../../lib/rollout/stages.ts";

const watched = { kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 };
const step = { share: 100, advance: "budget", min_hours: 24 };
const plan = { unit: "userId", fed_by: "agent:analytics", max_silent_hours: 24, steps: [step], watch: [watched] };

const findProblem = (change: object): string | undefined => {
  const issue = stagesSchema().safeParse({ ...plan, ...change }).error?.issues[0];
  return issue && `${issue.path.join(".")}: ${issue.message}`;
};

describe("the stages of a proposal", () => {
  it("are parsed without changes", () => {
    expect(stagesSchema().parse(plan)).toEqual(plan);
    expect(stagesSchema().parse({ ...plan, users_a_day: 20000 }).users_a_day).toBe(20000);
  });

  it("have the default steps for `default`", () => {
    const { steps } = stagesSchema().parse({ ...plan, steps: "default" });
    expect(steps).toEqual([
      { share: 100, advance: "budget", min_hours: 24 },
      { share: 1000, advance: "budget", min_hours: 24 },
      { share: 5000, advance: "proven", min_hours: 24 },
      { share: 9500, advance: "unless_worse", min_hours: 168, min_users: 500 },
    ]);
  });

  it("are converted to a plan of the fields that the rule needs", () => {
    const { steps, watch, max_silent_hours } = stagesSchema().parse(plan);
    expect(toPlan(stagesSchema().parse(plan))).toEqual({ steps, watch, max_silent_hours });
  });

  it.each([
    [{ steps: [] }, "steps: must have a step"],
    [{ steps: [{ ...step, share: 10000 }] }, "steps.0.share: must be below 10000: after the last step everybody"],
    [{ steps: [step, step] }, "steps: must have shares that grow"],
    [{ steps: [{ ...step, advance: "unless_worse" }] }, "steps.0.min_users: belongs to unless_worse"],
    [{ steps: [{ ...step, min_users: 5 }] }, "steps.0.min_users: belongs to unless_worse"],
    [{ watch: [] }, "watch: must name a KPI"],
    [{ watch: [watched, watched] }, "watch: must name each KPI once"],
    [{ watch: [{ ...watched, kind: "mean" }] }, "watch.0.bounds: are needed"],
    [{ watch: [{ ...watched, bounds: [0, 1] }] }, "watch.0.bounds: are needed"],
    [{ watch: [{ ...watched, kind: "mean", bounds: [0, 1e16] }] }, "watch.0.bounds: must be between -1e15 and 1e15"],
    [{ watch: [{ ...watched, kind: "ratio", bounds: [0, 5] }] }, "watch.0.per_bounds: belong to a ratio"],
    [
      { watch: [{ ...watched, kind: "ratio", bounds: [0, 5], per_bounds: [0, 5] }] },
      "watch.0.per_bounds: must be above 0",
    ],
    [
      { watch: [{ ...watched, kind: "mean", bounds: [-1, 5], allowed: { relative: 0.1 } }] },
      "watch.0.bounds: must be 0 or more where allowed is relative",
    ],
    [{ watch: [{ ...watched, allowed: -1 }] }, "watch.0.allowed: must be 0 or more"],
    [{ more: 1 }, ": must be a plan of a rollout"],
  ])("are rejected with %j", (change, problem) => {
    expect(findProblem(change)).toContain(problem);
  });
});
