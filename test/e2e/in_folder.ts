/** Tests that may run side by side: each has a folder with an intent, and what it starts there ends with it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test as plain } from "vitest";
import { killServers, temporaryFolder } from "./server.ts";

const INTENT = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };

/** The option that names the intent. */
export const WITH_INTENT = ["--product-intent", "intent.json"];

/** Writes an intent, changed. */
export const writeIntent = (cwd: string, name: string, changes: object = {}): Promise<void> =>
  writeFile(join(cwd, name), JSON.stringify({ ...INTENT, ...changes }));

/** A test that is given its folder. */
export const test = plain.extend<{ cwd: string }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads here which fixtures this one needs
  cwd: async ({}, use) => {
    const cwd = temporaryFolder();
    await writeIntent(cwd, "intent.json");
    await use(cwd);
    await killServers(cwd);
  },
});
