/** Lists the handler files from which the bundles of serverless hosts are built. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./root.mjs";

/** Handler files that describe the complete API, with their paths: their bundles contain all endpoints, and find one by its path. */
export const API_DESCRIBING = { openapi: "/openapi.json", docs: "/docs" };

/** Source text that imports all endpoints. */
export const ALL_ENDPOINTS = `import { endpoints } from "./handlers/index.ts";\n`;

/** Lists the handler files by their path below `handlers`, without the extension. */
export async function listHandlerFiles() {
  const files = await readdir(join(root, "handlers"), { recursive: true });
  return files
    .filter((file) => file.endsWith(".ts") && file !== "index.ts")
    .map((file) => file.slice(0, -3).replaceAll("\\", "/"))
    .sort();
}
