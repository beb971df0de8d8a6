/** Bundles a Worker of the tests. */
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../../..");

/** The text of the bundle of `entry`, a path from the root. */
export async function bundled(entry: string): Promise<string> {
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
