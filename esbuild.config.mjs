/**
 * Builds what is published. Without arguments: the program with its files, and every handler and library module for
 * whoever imports one. With `--all` also the bundles of the serverless hosts, whose sizes are held to their budgets.
 */
import { chmod, cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const root = import.meta.dirname;

/** Builds into a folder, which is emptied first. Packages stay imports; modules that several entries share are chunks. */
export async function build(outdir = join(root, "dist")) {
  await rm(outdir, { recursive: true, force: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ["handlers/**/*.ts", "lib/**/*.ts", "local/ui_server.ts", "local/verify/main.ts"],
    outbase: ".",
    outdir,
    chunkNames: "chunks/[hash]",
    bundle: true,
    splitting: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: true,
    logLevel: "warning",
  });
  for (const program of ["local/ui_server.js", "local/verify/main.js"]) await chmod(join(outdir, program), 0o755);
  await cp(join(root, "local/example"), join(outdir, "local/example"), { recursive: true });
  await buildConsole(join(outdir, "local/ui"));
}

/** Builds the console: static files that any host can serve, with every package it needs inside. */
async function buildConsole(outdir) {
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: { app: "local/ui/main.tsx", style: "local/ui/style.css" },
    outdir,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome116", "firefox124", "safari17.4"],
    logLevel: "warning",
  });
  for (const file of ["index.html", "icon.svg"]) await cp(join(root, "local/ui", file), join(outdir, file));
}

/** The entry of the Worker: the host with every endpoint. */
const WORKER = `
import { app, endpoints } from "./handlers/index.ts";
import { edgeHost } from "./lib/hosts/edge/worker.ts";
const host = edgeHost({ app, endpoints });
export const { Countersign } = host;
export default host.worker;
`;

/** Builds the Cloudflare Worker into one file, with every package it needs inside; `entry` is the text of its entry. */
export async function buildWorker(outfile = join(root, "dist/edge/worker.js"), entry = WORKER) {
  await esbuild.build({
    stdin: { contents: entry, resolveDir: root, sourcefile: "worker.ts", loader: "ts" },
    absWorkingDir: root,
    outfile,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:workers"],
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
  });
}

/** The handlers that describe the whole API: each is made over all endpoints, and found among them by its path. */
const DESCRIBING = { openapi: "/openapi.json", docs: "/docs" };

/** The handlers that may ask a language model, or make a checkpoint as an action. */
const ACTING = ["chat", "action_run_now"];

/** The files of handlers, by their path below `handlers` without its ending. */
export async function handlerFiles() {
  const files = await readdir(join(root, "handlers"), { recursive: true });
  return files
    .filter((file) => file.endsWith(".ts") && file !== "index.ts")
    .map((file) => file.slice(0, -3).replaceAll("\\", "/"))
    .sort();
}

/** The handler files of each group of functions, as the endpoints in them are declared. */
async function filesOfGroups() {
  const files = await handlerFiles();
  const listed = files.map((file, index) => `export * as h${index} from "./handlers/${file}.ts";`).join("\n");
  const { outputFiles } = await esbuild.build({
    stdin: { contents: `${listed}\nexport * as groups from "./lib/hosts/lambda/groups.ts";`, resolveDir: root },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
  });
  const { groups, ...modules } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
  );
  const has = (file, group) =>
    Object.values(modules[`h${files.indexOf(file)}`]).some((one) => one.path && groups.groupOf(one) === group);
  return Object.fromEntries(groups.GROUPS.map((group) => [group, files.filter((file) => has(file, group))]));
}

const lambdaEntry = (modules, { group, acting = false }) => `
import { lambdaFunction } from "./lib/hosts/lambda/function.ts";
${acting ? 'import { agentParts as parts } from "./lib/hosts/lambda/agent.ts";' : ""}
${modules}
export const handler = lambdaFunction(modules, { ${group ? `group: "${group}",` : ""} ${acting ? "parts" : ""} });
`;
const modulesOf = (files) =>
  files.map((file, index) => `import * as h${index} from "./handlers/${file}.ts";`).join("\n") +
  `\nconst modules = [${files.map((_, index) => `h${index}`)}];`;
const DESCRIBED = `import { endpoints } from "./handlers/index.ts";\n`;

/** Builds a Lambda function for each handler, each group of them, and the cycle: `<name>/index.mjs`, everything inside. */
export async function buildLambda(outdir = join(root, "dist/lambda"), wanted = () => true) {
  const groups = await filesOfGroups();
  const single = (file) =>
    DESCRIBING[file]
      ? lambdaEntry(`${DESCRIBED}const modules = [endpoints.filter(({ path }) => path === "${DESCRIBING[file]}")];`, {})
      : lambdaEntry(modulesOf([file]), { acting: ACTING.includes(file) });
  const grouped = (group, files) =>
    group === "docs"
      ? lambdaEntry(`${DESCRIBED}const modules = [endpoints];`, { group })
      : lambdaEntry(modulesOf(files), { group, acting: group === "agent" });
  const entries = {
    ...Object.fromEntries((await handlerFiles()).map((file) => [file, single(file)])),
    ...Object.fromEntries(
      Object.entries(groups).map(([group, files]) => [`functions/${group}`, grouped(group, files)]),
    ),
    "functions/cycle": 'export { handler } from "./lib/hosts/lambda/cycle.ts";',
  };
  return bundles(entries, wanted, {
    outdir,
    entryNames: "[dir]/[name]/index",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node22",
    plugins: [LATE_BUILTINS],
  });
}

/** Builds each handler for a Worker of one's own: `<name>.js`, which exports what the handler file exports. */
export async function buildEdge(outdir = join(root, "dist/edge"), wanted = () => true) {
  const entry = (file) =>
    DESCRIBING[file]
      ? `${DESCRIBED}export const ${file} = endpoints.find(({ path }) => path === "${DESCRIBING[file]}");`
      : `export * from "./handlers/${file}.ts";`;
  const entries = Object.fromEntries((await handlerFiles()).map((file) => [file, entry(file)]));
  return bundles(entries, wanted, { outdir, platform: "neutral", target: "es2022" });
}

/** Loads what Node has when it is first used, not when a bundle is imported: most of it is the logger's. */
const LATE_BUILTINS = {
  name: "late builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin" }));
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** Bundles entries that are given as text, each by itself and with every package it needs inside. Resolves with esbuild's metafile. */
async function bundles(entries, wanted, { plugins = [], ...options }) {
  const names = Object.keys(entries).filter(wanted);
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [
      ...plugins,
      {
        name: "entries",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice(6), namespace: "entry" }));
          onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
            contents: entries[path],
            resolveDir: root,
            loader: "ts",
          }));
        },
      },
    ],
    ...options,
  });
  return metafile;
}

/** The largest gzipped size of what a host loads, in bytes. */
export const BUDGETS = [
  { of: /^edge\/worker\.js$/, bytes: 120_000 },
  { of: /^edge\/product\//, bytes: 45_000 },
  { of: /^lambda\/product\//, bytes: 75_000 },
];

/** The bundles in a folder, largest first, and which are over their budget. */
export async function sizes(outdir) {
  const files = (await readdir(outdir, { recursive: true })).filter((file) => /^(?:edge|lambda)\b.*\.m?js$/.test(file));
  const measured = await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(join(outdir, file));
      return { file: file.replaceAll("\\", "/"), bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
    }),
  );
  const rows = measured.sort((a, b) => b.gzip - a.gzip);
  const over = rows.filter(({ file, gzip }) => BUDGETS.some(({ of, bytes }) => of.test(file) && gzip > bytes));
  return { rows, over };
}

/** Builds everything, writes the sizes to `sizes.txt`, and fails when one is over its budget. */
export async function buildAll(outdir = join(root, "dist")) {
  await build(outdir);
  await Promise.all([
    buildLambda(join(outdir, "lambda")),
    buildEdge(join(outdir, "edge")),
    buildWorker(join(outdir, "edge/worker.js")),
  ]);
  const { rows, over } = await sizes(outdir);
  const line = ({ file, bytes, gzip }) => `${String(gzip).padStart(8)} ${String(bytes).padStart(8)}  ${file}\n`;
  await writeFile(join(outdir, "sizes.txt"), `    gzip    bytes  file\n${rows.map(line).join("")}`);
  if (over.length > 0) throw new Error(`over its budget:\n${over.map(line).join("")}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await (process.argv.includes("--all") ? buildAll() : build());
