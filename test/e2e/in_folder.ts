/** A `test` that may run concurrently: it has a folder with an intent, and its servers are killed afterwards. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test as plain } from "vitest";
import { killServers, temporaryFolder } from "./server.ts";

const INTENT = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };

/** The arguments that select the intent. */
export const WITH_INTENT = ["--product-intent", "intent.json"];

/** Writes an intent with some changed fields. */
export const writeIntent = (cwd: string, name: string, changes: object = {}): Promise<void> =>
  writeFile(join(cwd, name), JSON.stringify({ ...INTENT, ...changes }));

/** A test with its folder as `cwd`. */
export const test = plain.extend<{ cwd: string }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of required fixtures from this pattern
  cwd: async ({}, use) => {
    const cwd = temporaryFolder();
    await writeIntent(cwd, "intent.json");
    await use(cwd);
    await killServers(cwd);
  },
});
