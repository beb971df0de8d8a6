/**
 * npm run dev [-- options of ui_server]: runs the service from its sources. A change of the service stops and restarts it; a
 * change of the console reloads the open page. A build with errors changes nothing.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { CONSOLE } from "../build/console.mjs";
import { NODE } from "../build/program.mjs";
import { root } from "../build/root.mjs";
import { restartable } from "./restartable.mjs";

// Not in dist, which each build empties, but below node_modules, so that imports of packages are resolved.
const cache = join(root, "node_modules/.cache/countersign");
await mkdir(cache, { recursive: true });
const outdir = await mkdtemp(join(cache, "dev-"));
const ui = join(outdir, "local/ui");
await mkdir(ui, { recursive: true });
await writeFile(join(outdir, "package.json"), '{"type":"module"}');

const service = restartable([join(outdir, "local/ui_server.js"), ...process.argv.slice(2)]);

/** Creates a plugin that calls a function after each build without errors. */
const createBuildListener = (onSuccess) => ({
  name: "after build",
  setup: ({ onEnd }) => onEnd(({ errors }) => (errors.length === 0 ? onSuccess() : undefined)),
});

/** Adds the script that looks for newer builds to the page; the published page does not have it. */
const RELOAD_PLUGIN = {
  name: "with reload",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/index\.html$/ }, async ({ path }) => {
      const page = await readFile(path, "utf8");
      const contents = page.replace("</head>", '<script type="module" src="reload.js"></script></head>');
      return { contents, loader: "copy", watchFiles: [path] };
    }),
};

let builds = 0;
const contexts = await Promise.all([
  esbuild.context({
    ...NODE,
    entryPoints: ["local/ui_server.ts"],
    outdir,
    plugins: [...NODE.plugins, createBuildListener(() => service.restart())],
  }),
  esbuild.context({
    ...CONSOLE,
    entryPoints: [...CONSOLE.entryPoints, { in: join(import.meta.dirname, "reload.js"), out: "reload" }],
    outdir: ui,
    splitting: false,
    sourcemap: true,
    // reload.js reloads the page when the text of build.txt changes.
    plugins: [RELOAD_PLUGIN, createBuildListener(() => writeFile(join(ui, "build.txt"), `${process.pid} ${++builds}`))],
  }),
]);

async function end() {
  await Promise.all([service.stop(), ...contexts.map((context) => context.dispose())]);
  await rm(outdir, { recursive: true, force: true });
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, end);

await Promise.all(contexts.map((context) => context.watch()));
