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
 * Handler of the schedule, whatever its event. It rejects when the service cannot be opened or a run did not do all of its
 * work, so that Lambda counts an error.
 */
export async function handler(_event: unknown, context: InvocationContext): Promise<CycleReport> {
  log.begin(context);
  try {
    return await runSchedule(await open());
  } finally {
    await log.written();
  }
}
