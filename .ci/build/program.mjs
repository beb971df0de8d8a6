/** The programs with their files, and what the package exports. */
import { chmod, cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildConsole } from "./console.mjs";
import { consoleFilesInPlace } from "./console_files.mjs";
import { root } from "./root.mjs";

/**
 * Compiles prom-client and yaml into the program. Of the packages that the first brings along (5 MB), and of the second's files
 * (1.2 MB), only a fraction is ever loaded, so an install does not need them.
 */
const PACKAGES_INSIDE = {
  name: "packages inside",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, importer, kind, resolveDir }) => {
      if (pluginData === "resolved" || kind === "entry-point" || path.startsWith("countersign:")) return undefined;
      const bundled = /^(?:prom-client|yaml)\b/.test(path) || importer.includes("node_modules");
      if (!bundled) return { path, external: true };
      // CommonJS asks for what Node has by a call that a module does not know.
      if (isBuiltin(path)) return { path, namespace: "builtin" };
      return resolve(path, { kind, importer, resolveDir, pluginData: "resolved" });
    });
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** Options for code that runs in Node: packages that it depends on stay imports. */
export const NODE = {
  absWorkingDir: root,
  outbase: ".",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  plugins: [PACKAGES_INSIDE, consoleFilesInPlace()],
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
  const { metafile } = await esbuild.build({
    ...NODE,
    entryPoints: entryPoints(manifest),
    outdir,
    metafile: true,
    chunkNames: "chunks/[hash]",
    splitting: true,
  });
  for (const program of Object.values(manifest.bin)) await chmod(join(outdir, program.replace(/^dist\//, "")), 0o755);
  await writeFile(join(outdir, "LICENSES.txt"), await readLicenses(Object.keys(metafile.inputs)));
  await cp(join(root, "local/example"), join(outdir, "local/example"), { recursive: true });
  await buildConsole(join(outdir, "local/ui"));
}

/** The license texts of the packages that these compiled files belong to. */
async function readLicenses(inputs) {
  const names = new Set(inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const texts = [...names].sort().map(async (name) => {
    const folder = join(root, "node_modules", name);
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no license file; it cannot be compiled into the program`);
    return `${name}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n\n");
}
