/** Builds the bundles for the edge: the Cloudflare Worker, and each handler for a custom Worker. */
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildBundles } from "./bundles.mjs";
import { ALL_ENDPOINTS, API_DESCRIBING, listHandlerFiles } from "./handler_files.mjs";
import { root } from "./root.mjs";

/** The entry of the Worker: the host with every endpoint. */
const WORKER = `
import { endpoints } from "./handlers/index.ts";
import { edgeHost } from "./lib/hosts/edge/worker.ts";
const host = edgeHost({ endpoints });
export const { Countersign } = host;
export default host.worker;
`;

/** Builds the Worker into one file with every package that it needs; `entry` is the text of its entry. */
export async function buildWorker(outfile = join(root, "dist/edge/worker.js"), entry = WORKER) {
  await esbuild.build({
    stdin: { contents: entry, resolveDir: root, sourcefile: "worker.ts", loader: "ts" },
    absWorkingDir: root,
    outfile,
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:workers"],
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
  });
}

/** Builds each handler: `<name>.js`, which exports what the handler file exports. */
export async function buildEdge(outdir = join(root, "dist/edge"), isWanted = () => true) {
  // A handler that describes the API is a function of all endpoints, so its bundle exports the finished one from their list.
  const makeEntry = (file) =>
    API_DESCRIBING[file]
      ? `${ALL_ENDPOINTS}export const ${file} = endpoints.find(({ path }) => path === "${API_DESCRIBING[file]}");`
      : `export * from "./handlers/${file}.ts";`;
  const entries = Object.fromEntries((await listHandlerFiles()).map((file) => [file, makeEntry(file)]));
  return buildBundles(entries, isWanted, { outdir, platform: "neutral", target: "es2022" });
}
