/** The scheduled function: a cycle, and a checkpoint when one is due. */
import { maintainCheckpoint } from "../../audit/anchor.ts";
import type { Deps } from "../../deps.ts";
import { type CycleReport, runCycle } from "../../pulse/cycle.ts";
import { agentParts } from "./agent.ts";
import type { InvocationContext } from "./handler.ts";
import { lambdaLog } from "./log.ts";
import { composeLambda, openTable, whileFresh } from "./open.ts";

const log = lambdaLog();

const open = whileFresh(process.env, async (): Promise<Deps> => {
  const deps = await composeLambda(process.env, "write", log, agentParts);
  await openTable(deps, "write");
  return deps;
});

/** What the schedule calls, whatever its event. It rejects when the service cannot be opened, so that Lambda counts an error. */
export async function handler(_event: unknown, context: InvocationContext): Promise<CycleReport> {
  log.begin(context);
  try {
    const deps = await open();
    const report = await runCycle(deps);
    if (deps.product) await maintainCheckpoint(deps);
    return report;
  } finally {
    await log.written();
  }
}
