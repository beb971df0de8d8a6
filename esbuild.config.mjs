/** Builds what is published: the program with its files, and every handler and library module for whoever imports one. */
import { chmod, cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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
    target: ["chrome111", "firefox114", "safari16.4"],
    logLevel: "warning",
  });
  for (const file of ["index.html", "icon.svg"]) await cp(join(root, "local/ui", file), join(outdir, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
