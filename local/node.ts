/** Exports the file store, the file adapter and the target systems for applications on Node. */
import { consoleWarnings, type Log } from "../lib/kit/platform.ts";
import type { Store } from "../lib/store/store.ts";
import { openFile } from "./open_store.ts";

export { etcdTarget, type EtcdTargetOptions } from "./targets/etcd.ts";
export { fileAdapter, type FileTargetOptions } from "./targets/file.ts";
export { flagdTarget, type FlagdTargetOptions } from "./targets/flagd.ts";
export { gitTarget, type GitTargetOptions } from "./targets/git.ts";
export { postgresTarget, type PostgresTargetOptions } from "./targets/postgres.ts";
export { unleashTarget, type UnleashTargetOptions } from "./targets/unleash.ts";

/**
 * Opens a store in a journal next to this path; only this process may use it until the store is closed. Errors: a sentence that
 * names the file and its problem.
 */
export const fileStore = ({ path, log = consoleWarnings }: { path: string; log?: Log }): Promise<Store> =>
  openFile(path, log);
