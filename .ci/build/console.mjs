/** Builds the console: static files with every package that it needs, which any host can serve. */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as esbuild from "esbuild";
import { mergeCore } from "./console_core.mjs";
import { root } from "./root.mjs";

/** The oldest supported browsers; README names them. */
const BROWSERS = ["chrome123", "firefox124", "safari17.5"];

/** Options of esbuild for the console. */
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

/** Builds the console in memory: files as `{ path, text }`; without `splitting` all code is in one file. */
export async function buildConsoleOutput({ outdir, splitting = true }) {
  const { outputFiles } = await esbuild.build({ ...CONSOLE, splitting, outdir, minify: true, write: false });
  const files = outputFiles.map(({ path, text }) => ({ path, text }));
  return splitting ? mergeCore(files) : stampPage(files);
}

/** Adds the id of the build to the file names in the page, so that an open page notices a newer build. */
function stampPage(files) {
  const build = createHash("sha256").update(JSON.stringify(files.map(({ text }) => text))).digest("hex").slice(0, 16); // prettier-ignore
  const stamp = (page) => page.replace(/"(app\.js|style\.css)"/g, `"$1?${build}"`);
  return files.map((file) => (file.path.endsWith("index.html") ? { ...file, text: stamp(file.text) } : file));
}

/** Builds the console in a folder. */
export async function buildConsole(outdir) {
  for (const { path, text } of await buildConsoleOutput({ outdir })) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
