/** The scheduled function. */
import type { Deps } from "../../deps.ts";
import type { CycleReport } from "../../operations/cycle.ts";
import { agentParts } from "./agent.ts";
import type { InvocationContext } from "./handler.ts";
import { lambdaLog } from "./log.ts";
import { composeLambda, openTable, refreshAfterTtl } from "./open.ts";
import { runSchedule } from "./scheduled_run.ts";

const log = lambdaLog();

const open = refreshAfterTtl(process.env, async (): Promise<Deps> => {
  const deps = await composeLambda(process.env, "write", log, agentParts);
  await openTable(deps, "write");
  return deps;
});

/**
 * Runs the schedule; its event is not used. Rejects when the service cannot be opened or part of the work failed, so that
 * Lambda counts an error.
 */
export async function handler(_event: unknown, context: InvocationContext): Promise<CycleReport> {
  log.begin(context);
  try {
    return await runSchedule(await open());
  } finally {
    await log.flush();
  }
}
