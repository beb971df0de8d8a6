/**
 * npm run dev [-- options of ui_server]: runs the service from its sources. A change of the service restarts it, in
 * good order; a change of the console reloads the open page. What does not build leaves what runs alone.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { CONSOLE } from "../build/console.mjs";
import { NODE } from "../build/program.mjs";
import { root } from "../build/root.mjs";
import { restartable } from "./restartable.mjs";

// Not in dist, which each build empties; below node_modules, where the packages are found that stay imports.
const cache = join(root, "node_modules/.cache/countersign");
await mkdir(cache, { recursive: true });
const outdir = await mkdtemp(join(cache, "dev-"));
const ui = join(outdir, "local/ui");
await mkdir(ui, { recursive: true });
await writeFile(join(outdir, "package.json"), '{"type":"module"}');

const service = restartable([join(outdir, "local/ui_server.js"), ...process.argv.slice(2)]);

/** Calls `then` after each build without an error. */
const afterBuild = (then) => ({
  name: "after build",
  setup: ({ onEnd }) => onEnd(({ errors }) => (errors.length === 0 ? then() : undefined)),
});

/** Lets the page look for newer builds. The published page knows nothing of it. */
const withReload = {
  name: "with reload",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/index\.html$/ }, async ({ path }) => {
      const page = await readFile(path, "utf8");
      const contents = page.replace("</head>", '<script type="module" src="reload.js"></script></head>');
      return { contents, loader: "copy", watchFiles: [path] };
    }),
};

let builds = 0;
const watched = await Promise.all([
  esbuild.context({
    ...NODE,
    entryPoints: ["local/ui_server.ts"],
    outdir,
    plugins: [...NODE.plugins, afterBuild(() => service.restart())],
  }),
  esbuild.context({
    ...CONSOLE,
    entryPoints: [...CONSOLE.entryPoints, { in: join(import.meta.dirname, "reload.js"), out: "reload" }],
    outdir: ui,
    splitting: false,
    sourcemap: true,
    plugins: [withReload, afterBuild(() => writeFile(join(ui, "build.txt"), `${process.pid} ${++builds}`))],
  }),
]);

async function end() {
  await Promise.all([service.stop(), ...watched.map((one) => one.dispose())]);
  await rm(outdir, { recursive: true, force: true });
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, end);

await Promise.all(watched.map((one) => one.watch()));
