/** A complete service in this process, with a clock that the test moves and the optional parts of operations. */
import { actionList } from "../../../handlers/action_list.ts";
import { actionRunNow } from "../../../handlers/action_run_now.ts";
import { events } from "../../../handlers/events.ts";
import { evolvedFile } from "../../../handlers/evolved_file.ts";
import { evolved } from "../../../handlers/evolved.ts";
import { app } from "../../../handlers/index.ts";
import { l1l5Trend } from "../../../handlers/l1l5_trend.ts";
import { log } from "../../../handlers/log.ts";
import { metrics } from "../../../handlers/metrics.ts";
import { taskFeedback } from "../../../handlers/task_feedback.ts";
import { taskSubmit, tasks } from "../../../handlers/tasks.ts";
import type { Llm } from "../../../lib/llm/port.ts";
import type { Deps } from "../../../lib/deps.ts";
import type { Endpoint, Handler } from "../../../lib/http/endpoint.ts";
import type { OperationsDeps } from "../../../lib/operations/deps.ts";
import type { LinkPort, SyncReport } from "../../../lib/link/port.ts";
import { type CycleReport, runCycle } from "../../../lib/operations/cycle.ts";
import { client } from "../../support/client.ts";
import { openDeps, type TestDeps, type TestOptions } from "../../support/deps.ts";
import { type ScriptedAdapter, scriptedAdapter } from "../../support/scripted_adapter.ts";

export { filesInMemory } from "../../support/files_in_memory.ts";

/** The endpoints that the tests of operations use. */
export const OPERATIONS_ENDPOINTS: readonly Endpoint<OperationsDeps>[] = [
  log,
  metrics,
  tasks,
  taskSubmit,
  taskFeedback,
  evolved,
  evolvedFile,
  l1l5Trend,
  actionRunNow,
  actionList,
  events,
];

/** Creates a fetch function: it mounts the endpoints of operations one by one, as a host may, and `app` answers all others. */
export function makeFetch(deps: Deps): Handler {
  const rest = app(deps);
  const operations = OPERATIONS_ENDPOINTS.map((endpoint) => ({
    method: endpoint.method,
    pattern: new RegExp(`^${endpoint.path.replace(/:\w+/, "[^/]+")}$`),
    handler: endpoint(deps),
  }));
  return (request) => {
    const { pathname } = new URL(request.url);
    const method = request.method === "HEAD" ? "GET" : request.method;
    const operation = operations.find((endpoint) => endpoint.method === method && endpoint.pattern.test(pathname));
    const handle = operation?.handler ?? rest;
    return handle(request);
  };
}

/** A client of a service, with the service's dependencies and host product. */
export type OperationsService = ReturnType<typeof client> & {
  deps: TestDeps;
  host: ScriptedAdapter;
  cycle(): Promise<CycleReport>;
  /** Moves the clock by hours. */
  passHours(count: number): void;
};

/** Opens a service over the memory store with a scripted host product. */
export async function openOperations(options: TestOptions = {}): Promise<OperationsService> {
  const host = scriptedAdapter();
  const deps = await openDeps({ adapter: host, ...options });
  return {
    ...client(makeFetch(deps)),
    deps,
    host,
    cycle: () => runCycle(deps),
    passHours: (count) => deps.clock.advance(count * 3_600_000),
  };
}

/** Creates a link whose sync runs `sync`. */
export const makeLink = (sync: () => Promise<SyncReport>): LinkPort => ({
  self: { peer_id: null, instance_id: null, product_id: null, product_type: null, address: null },
  peers: async () => [],
  query: async () => undefined,
  sync,
  capability: () => ({ id: "cross_link", group: "link", status: "available", reason: null, enable_with: null }),
});

/** Creates a model that answers with `complete`. */
export const makeModel = (complete: Llm["complete"]): Llm => ({ model: "m", complete });
