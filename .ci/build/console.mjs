/** The console: static files that any host can serve, with every package it needs inside. */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as esbuild from "esbuild";
import { mergeCore } from "./console_core.mjs";
import { root } from "./root.mjs";

/** The oldest browsers it runs in; README names them. */
const BROWSERS = ["chrome123", "firefox124", "safari17.5"];

/** How the console is built. */
export const CONSOLE = {
  absWorkingDir: root,
  entryPoints: [
    { in: "local/ui/main.tsx", out: "app" },
    { in: "local/ui/style.css", out: "style" },
    { in: "local/ui/index.html", out: "index" },
    { in: "local/ui/icon.svg", out: "icon" },
  ],
  loader: { ".html": "copy", ".svg": "copy" },
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "browser",
  target: BROWSERS,
  logLevel: "warning",
};

/** Builds it in memory: files as `{ path, text }`; without `splitting` all of the code is in one. */
export async function consoleOutput({ outdir, splitting = true }) {
  const { outputFiles } = await esbuild.build({ ...CONSOLE, splitting, outdir, minify: true, write: false });
  const files = outputFiles.map(({ path, text }) => ({ path, text }));
  return splitting ? mergeCore(files) : stampPage(files);
}

/** Has the page name its files with the id of the build, so that an open page notices another one. */
function stampPage(files) {
  const build = createHash("sha256").update(JSON.stringify(files.map(({ text }) => text))).digest("hex").slice(0, 16); // prettier-ignore
  const stamp = (page) => page.replace(/"(app\.js|style\.css)"/g, `"$1?${build}"`);
  return files.map((file) => (file.path.endsWith("index.html") ? { ...file, text: stamp(file.text) } : file));
}

/** Builds it into a folder. */
export async function buildConsole(outdir) {
  for (const { path, text } of await consoleOutput({ outdir })) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
