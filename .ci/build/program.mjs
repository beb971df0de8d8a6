/** The program with its files, and every handler and library module for whoever imports one. */
import { chmod, cp, rm } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildConsole } from "./console.mjs";
import { root } from "./root.mjs";

/** How what runs in Node is built: packages stay imports. */
export const NODE = {
  absWorkingDir: root,
  outbase: ".",
  bundle: true,
  packages: "external",
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  logLevel: "warning",
};

/** Builds into a folder, which is emptied first. Modules that several entries share are chunks. */
export async function build(outdir = join(root, "dist")) {
  await rm(outdir, { recursive: true, force: true });
  await esbuild.build({
    ...NODE,
    entryPoints: ["handlers/**/*.ts", "lib/**/*.ts", "local/ui_server.ts", "local/verify/main.ts"],
    outdir,
    chunkNames: "chunks/[hash]",
    splitting: true,
  });
  for (const program of ["local/ui_server.js", "local/verify/main.js"]) await chmod(join(outdir, program), 0o755);
  await cp(join(root, "local/example"), join(outdir, "local/example"), { recursive: true });
  await buildConsole(join(outdir, "local/ui"));
}
