/**
 * Builds the published files. Without arguments: the program with its files, and every handler and library module for projects
 * that import one. With `--all` also the bundles of the serverless hosts, and the sizes of bundles and of an install are checked
 * against their budgets. Each file of `.ci/build` builds one part.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkBundleSizes } from "./.ci/build/bundle_sizes.mjs";
import { buildEdge, buildWorker } from "./.ci/build/edge.mjs";
import { checkInstallSize } from "./.ci/build/install_size.mjs";
import { buildLambda } from "./.ci/build/lambda.mjs";
import { build } from "./.ci/build/program.mjs";

export { BUDGETS, measureBundles } from "./.ci/build/bundle_sizes.mjs";
export { buildConsole } from "./.ci/build/console.mjs";
export { buildConsoleFiles } from "./.ci/build/console_files.mjs";
export { buildEdge, buildWorker } from "./.ci/build/edge.mjs";
export { listHandlerFiles } from "./.ci/build/handler_files.mjs";
export { buildLambda } from "./.ci/build/lambda.mjs";
export { build } from "./.ci/build/program.mjs";
export { buildTypes } from "./.ci/build/types.mjs";

/** Builds everything, and fails when a bundle or an install is over its budget. */
async function buildAll() {
  const outdir = join(import.meta.dirname, "dist");
  await build(outdir);
  await Promise.all([
    buildLambda(join(outdir, "lambda")),
    buildEdge(join(outdir, "edge")),
    buildWorker(join(outdir, "edge/worker.js")),
  ]);
  await checkBundleSizes(outdir);
  process.stdout.write(`${await checkInstallSize(import.meta.dirname)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await (process.argv.includes("--all") ? buildAll() : build());
