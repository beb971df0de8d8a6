/** Checks the stages of a rollout in a proposal. */
import { invalidField } from "../../kit/errors.ts";
import { type Intent, listKpiNames } from "./intent.ts";
import { goodDirection } from "./kpi.ts";
import { hasNoValue } from "./list_entries.ts";
import { normalizeName } from "./names.ts";
import { findPrincipal } from "./principals.ts";
import { findStagesProblem, type StagedChange, type StagesRule } from "./stages_rule.ts";

/** Requires that the rollout of a proposal can be carried out. Errors: 400 `invalid_field`. */
export function requireStages(
  proposal: StagedChange & { proposer?: string | undefined },
  intent: Pick<Intent, "kpis" | "principals"> & { policy: { stages?: StagesRule | undefined } },
): void {
  const { policy, principals, kpis } = intent;
  const { stages, proposer } = proposal;
  if (!stages) return;
  const { fed_by } = stages;
  const reject = (message: string): never => {
    throw invalidField("stages", message);
  };
  if (hasNoValue(proposal)) reject("need a value that users can get");
  if (findPrincipal(fed_by, { principals })?.kind !== "agent")
    reject(`must be fed by an agent of the intent, and ${fed_by} is none`);
  if (proposer !== undefined && normalizeName(proposer) === normalizeName(fed_by))
    reject("must not be fed by the proposer of the change");
  // A proposer who chose the direction could turn every loss into a gain.
  for (const { kpi, good } of stages.watch)
    if (listKpiNames({ kpis }).includes(kpi) && good !== goodDirection(kpi, intent))
      reject(`must say good: ${goodDirection(kpi, intent)} of ${kpi}, as the intent does`);
  const problem = findStagesProblem(proposal, policy.stages);
  if (problem !== undefined) reject(problem);
}
