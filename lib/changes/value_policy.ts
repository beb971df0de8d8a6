/** Shows the rules for the values of a target, and the numbers that they allow now, before a change is proposed. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { ChangesDeps } from "./deps.ts";
import { findBase, readUnownedTargets } from "./judge_values.ts";
import { readLedger } from "./ledger/ledger.ts";
import { isInAgentScope } from "./rules/agent_scope.ts";
import { KINDS } from "./rules/change.ts";
import type { Content } from "./rules/content.ts";
import { listSteps, computeStepRange, listTargetRules } from "./rules/value_limits.ts";

export const valuePolicySchema = once(() =>
  z.object({
    rules: z
      .array(z.looseObject({ match: z.array(z.string()).describe("The targets of the rule.") }))
      .describe("Rules of policy.targets for this target; all of them hold."),
    limits: z
      .array(
        z.object({
          path: z.string().meta({ description: "The number in the proposal.", examples: ["value.limits.seats"] }),
          base: z.array(z.number()).describe("Numbers that it is compared with; empty for a first value."),
          minimum: z.number().nullable().describe("The least that is allowed now; null: no limit."),
          maximum: z.number().nullable().describe("The greatest."),
          problem: z.string().nullable().describe("Why no number can be proposed now."),
        }),
      )
      .describe("Steps that are allowed now; empty without tenant_id."),
  }),
);
export type ValuePolicy = z.infer<ReturnType<typeof valuePolicySchema>>;

/** A target, with its tenant if the limits are requested. */
export type ValueQuestion = Pick<Content, "target"> & {
  tenant_id?: string | undefined;
  kind?: Content["kind"] | undefined;
};

/** Returns the rules for the values of a target, and for a tenant the numbers that they allow now. */
export async function readValuePolicy(
  deps: ChangesDeps,
  { target, tenant_id, kind = KINDS[0] }: ValueQuestion,
): Promise<ValuePolicy> {
  const { policy } = deps.product!.intent;
  const rules = listTargetRules({ target }, policy);
  if (tenant_id === undefined || rules.every(({ max_step }) => !max_step)) return { rules, limits: [] };
  // The value must be present, but the scope and the list of limited steps do not depend on it.
  const example = { tenant_id, target, kind, value: null };
  const { reader } = deps;
  // The numbers reveal the current value, so an agent that reads only its own changes gets them only for targets in its scope.
  if (reader && !isInAgentScope(reader.name, example, deps.product!.intent)) return { rules, limits: [] };
  const readings = await readUnownedTargets(deps, example);
  const facts = { policy, at: new Date(deps.clock.now()).toISOString(), readings };
  const limits = await readLedger(deps, (ledger) =>
    Promise.all(
      listSteps(example, policy).map(async (step) => {
        const result = await findBase(ledger, step, facts);
        const unlimited = { path: step.path, base: [] as number[], minimum: null, maximum: null };
        if (result === "first") return { ...unlimited, problem: null };
        if ("unknown" in result) return { ...unlimited, problem: result.unknown };
        const range = computeStepRange(step.limit, result.numbers);
        const base = [...result.numbers];
        return range
          ? { path: step.path, base, ...range, problem: null }
          : { ...unlimited, base, problem: `${step.path} was 0 before, and a relative max_step allows no step from 0` };
      }),
    ),
  );
  return { rules, limits };
}
