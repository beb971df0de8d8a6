/** The programs with their files, and what the package exports. */
import { chmod, cp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildConsole } from "./console.mjs";
import { consoleFilesInPlace } from "./console_files.mjs";
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
  plugins: [consoleFilesInPlace()],
  logLevel: "warning",
};

/** The sources of what the package exports and of its programs, a `*` for every file in a folder. */
function entryPoints({ bin, exports }) {
  const exported = Object.values(exports).flatMap((target) => target.default ?? []);
  return [...exported, ...Object.values(bin)].map((path) =>
    path
      .replace(/^(?:\.\/)?dist\//, "")
      .replace("*", "**/*")
      .replace(/\.js$/, ".ts"),
  );
}

/** Builds into a folder, which is emptied first. Modules that several entries share are chunks. */
export async function build(outdir = join(root, "dist")) {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await rm(outdir, { recursive: true, force: true });
  await esbuild.build({
    ...NODE,
    entryPoints: entryPoints(manifest),
    outdir,
    chunkNames: "chunks/[hash]",
    splitting: true,
  });
  for (const program of Object.values(manifest.bin)) await chmod(join(outdir, program.replace(/^dist\//, "")), 0o755);
  await cp(join(root, "local/example"), join(outdir, "local/example"), { recursive: true });
  await buildConsole(join(outdir, "local/ui"));
}
