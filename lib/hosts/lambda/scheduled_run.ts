/** One run of the schedule: a cycle, and a checkpoint when one is due. */
import { maintainCheckpoint } from "../../audit/anchor.ts";
import type { Breach } from "../../audit/integrity.ts";
import type { Deps } from "../../deps.ts";
import { type CycleReport, runCycle } from "../../operations/cycle.ts";

/** Runs the work that is due. Rejects if part of it failed: an alarm counts failed runs, and nobody reads the report. */
export async function runSchedule(deps: Deps): Promise<CycleReport> {
  const report = await runCycle(deps);
  if (deps.product) await maintainCheckpoint(deps);
  const problems = [...describeBreach(deps.integrity.breach), ...describeFailedSteps(report)];
  if (problems.length > 0) throw new Error(`the cycle did not do all of its work: ${problems.join("; ")}`);
  return report;
}

const describeBreach = (breach: Breach | undefined): string[] =>
  breach
    ? [
        `the audit chain does not hold at entry ${breach.first_invalid} (${breach.reason}), so nothing expires and no guardrail acts until it is restored`,
      ]
    : [];

const describeFailedSteps = ({ failed_steps: steps }: CycleReport): string[] =>
  steps.length > 0 ? [`these steps failed, for the reasons in the log: ${steps.join(", ")}`] : [];
