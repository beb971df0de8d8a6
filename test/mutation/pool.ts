/** A pool of Vitest whose only thread is used for all runs. If a mutant does not end, Stryker ends the process. */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { PoolRunnerInitializer, PoolWorker } from "vitest/node";

let thread: Worker | undefined;

/** The pool. Its thread stays when Vitest stops a worker; only the listeners of this worker are removed. */
export const lastingPool: PoolRunnerInitializer = {
  name: "lasting",
  createPoolWorker({ env, execArgv }): PoolWorker {
    const listeners: [event: string, listener: (value: unknown) => void][] = [];
    return {
      name: "lasting",
      async start() {
        thread ??= new Worker(join(import.meta.dirname, "worker.mjs"), { env: env as NodeJS.ProcessEnv, execArgv });
      },
      async stop() {
        for (const [event, listener] of listeners) thread?.off(event, listener);
      },
      on(event, listener) {
        listeners.push([event, listener]);
        thread?.on(event, listener);
      },
      off: (event, listener) => void thread?.off(event, listener),
      send: (message) => thread?.postMessage(message),
      deserialize: (data) => data,
    };
  },
};

/** Ends the thread, so that the process can end. */
export const endThread = async (): Promise<void> => void (await thread?.terminate());
