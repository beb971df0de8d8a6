/** The handler files, from which the serverless hosts' bundles are made. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./root.mjs";

/** The handlers that describe the whole API: each is made over all endpoints, and found among them by its path. */
export const DESCRIBING = { openapi: "/openapi.json", docs: "/docs" };

/** The list of all endpoints, for an entry that describes them. */
export const ALL_ENDPOINTS = `import { endpoints } from "./handlers/index.ts";\n`;

/** The files of handlers, by their path below `handlers` without its ending. */
export async function handlerFiles() {
  const files = await readdir(join(root, "handlers"), { recursive: true });
  return files
    .filter((file) => file.endsWith(".ts") && file !== "index.ts")
    .map((file) => file.slice(0, -3).replaceAll("\\", "/"))
    .sort();
}
