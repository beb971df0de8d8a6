/** The console: static files that any host can serve, with every package it needs inside. */
import * as esbuild from "esbuild";
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

/** Builds it into a folder. */
export const buildConsole = (outdir) => esbuild.build({ ...CONSOLE, outdir, minify: true });
