/** Bundles a Worker of the tests. */
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../../..");

/** Returns the bundle of the module `entry`, a path from the root of the project. */
export async function bundleWorker(entry: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  return outputFiles[0]!.text;
}
