/** What an application on Node may use beside the handlers: the file store and the file adapter. */
import { consoleWarnings, type Log } from "../lib/kit/platform.ts";
import type { Store } from "../lib/store/store.ts";
import { openFile } from "./open_store.ts";

export { fileAdapter, type FileTargetOptions } from "./targets/file.ts";

/**
 * A store in a journal beside this path, which this process alone owns until it closes the store. Errors: a sentence that
 * names the file and what is wrong with it.
 */
export const fileStore = ({ path, log = consoleWarnings }: { path: string; log?: Log }): Promise<Store> =>
  openFile(path, log);
