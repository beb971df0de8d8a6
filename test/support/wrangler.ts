/** The program that deploys Workers, of the version that comes with the runtime of the project: 60 MB for one test. */
import { join } from "node:path";
import { fetchedFile } from "./fetched_package.ts";
import packageJson from "./worker_deployment/package.json" with { type: "json" };

/** Returns the path of its script; rejects with the reason where it is not available. */
export const wrangler = (): Promise<string> =>
  fetchedFile(join(import.meta.dirname, "worker_deployment"), packageJson, "bin/wrangler.js", { name: "wrangler" });
