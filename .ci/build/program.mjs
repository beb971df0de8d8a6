/** Builds the programs with their files, and the modules that the package exports. */
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildConsole } from "./console.mjs";
import { createConsoleFilesPlugin } from "./console_files.mjs";
import { root } from "./root.mjs";

/**
 * Compiles prom-client and yaml into the program, so that an install does not need them: of the dependencies of prom-client
 * (5 MB) and the files of yaml (1.2 MB) only a fraction is ever loaded.
 */
const BUNDLED_PACKAGES = {
  name: "bundled packages",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, importer, kind, resolveDir }) => {
      // `resolve` calls this function again, with "resolved".
      if (pluginData === "resolved" || kind === "entry-point" || path.startsWith("countersign:")) return undefined;
      const bundled = /^(?:prom-client|yaml)\b/.test(path) || importer.includes("node_modules");
      if (!bundled) return { path, external: true };
      // CommonJS loads modules of Node by `require`, which an ES module does not have.
      if (isBuiltin(path)) return { path, namespace: "builtin" };
      return resolve(path, { kind, importer, resolveDir, pluginData: "resolved" });
    });
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** Options for code that runs in Node; its dependencies stay imports. */
export const NODE = {
  absWorkingDir: root,
  outbase: ".",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  plugins: [BUNDLED_PACKAGES, createConsoleFilesPlugin()],
  logLevel: "warning",
};

/** Lists the source files of the exports and programs of the package; `*` stands for every file in a folder. */
function listEntryPoints({ bin, exports }) {
  const exported = Object.values(exports).flatMap((target) => target.default ?? []);
  return [...exported, ...Object.values(bin)].map((path) =>
    path
      .replace(/^(?:\.\/)?dist\//, "")
      .replace("*", "**/*")
      .replace(/\.js$/, ".ts"),
  );
}

/** Builds the program in a folder, which is emptied first. Modules that several entries share become chunks. */
export async function build(outdir = join(root, "dist")) {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await esbuild.build({
    ...NODE,
    entryPoints: listEntryPoints(manifest),
    outdir,
    metafile: true,
    chunkNames: "chunks/[hash]",
    splitting: true,
  });
  // In a checkout, `dist/bin` is for the PATH; npm packs no links, and links the programs itself.
  await mkdir(join(outdir, "bin"));
  for (const [name, program] of Object.entries(manifest.bin)) {
    const path = program.replace(/^dist\//, "");
    await chmod(join(outdir, path), 0o755);
    await symlink(join("..", path), join(outdir, "bin", name));
  }
  await writeFile(join(outdir, "LICENSES.txt"), await readLicenses(Object.keys(metafile.inputs)));
  await cp(join(root, "local/example"), join(outdir, "local/example"), { recursive: true });
  await buildConsole(join(outdir, "local/ui"));
}

/** Returns the license texts of the packages to which these compiled files belong. */
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
