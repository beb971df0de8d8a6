/**
 * Builds what is published. Without arguments: the program with its files, and every handler and library module for
 * projects that import one. With `--all` also the bundles of the serverless hosts; then what a host loads, and what an install
 * brings along, is held to its budget. How each part is built stands in `.ci/build`, a file each.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { holdBundles } from "./.ci/build/bundle_sizes.mjs";
import { buildEdge, buildWorker } from "./.ci/build/edge.mjs";
import { holdInstall } from "./.ci/build/install_size.mjs";
import { buildLambda } from "./.ci/build/lambda.mjs";
import { build } from "./.ci/build/program.mjs";

export { BUDGETS, sizes } from "./.ci/build/bundle_sizes.mjs";
export { buildConsole } from "./.ci/build/console.mjs";
export { consoleFiles } from "./.ci/build/console_files.mjs";
export { buildEdge, buildWorker } from "./.ci/build/edge.mjs";
export { handlerFiles } from "./.ci/build/handler_files.mjs";
export { buildLambda } from "./.ci/build/lambda.mjs";
export { build } from "./.ci/build/program.mjs";
export { buildTypes } from "./.ci/build/types.mjs";

/** Builds everything, and fails when something is over its budget. */
async function buildAll() {
  const outdir = join(import.meta.dirname, "dist");
  await build(outdir);
  await Promise.all([
    buildLambda(join(outdir, "lambda")),
    buildEdge(join(outdir, "edge")),
    buildWorker(join(outdir, "edge/worker.js")),
  ]);
  await holdBundles(outdir);
  process.stdout.write(`${await holdInstall(import.meta.dirname)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await (process.argv.includes("--all") ? buildAll() : build());
