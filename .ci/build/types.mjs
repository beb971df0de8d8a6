/** The types of what the package exports, and of nothing else: no module can be imported that is not exported. */
import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { root } from "./root.mjs";

/** Files that a declaration file names: in an import, an export, or where it stands for a type. */
const NAMED = /["'](\.{1,2}\/[^"']+?)(?:\.d)?\.(m?)[jt]s["']/g;

/** Writes them next to the built files of a folder. */
export async function buildTypes(outdir = join(root, "dist")) {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const project = join(root, ".ci/tsconfig.types.json");
  await promisify(execFile)(process.execPath, [compiler, "-p", project, "--outDir", outdir]).catch((error) => {
    throw new Error(error.stdout || error.message);
  });
  const files = (await readdir(outdir, { recursive: true })).filter((path) => path.endsWith(".d.ts"));
  const needed = await reachable(outdir, await exported(files));
  await Promise.all(files.filter((path) => !needed.has(path)).map((path) => rm(join(outdir, path))));
}

/** The files that the package exports, of these. */
async function exported(files) {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return files.filter((path) =>
    Object.values(exports).some(({ types }) => {
      const [start, end] = types?.replace("./dist/", "").split("*") ?? [];
      return end === undefined ? path === start : path.startsWith(start) && path.endsWith(end);
    }),
  );
}

/** These files and all that they name. */
async function reachable(folder, from) {
  const found = new Set(from);
  for (const path of found) {
    const text = await readFile(join(folder, path), "utf8");
    for (const [, name, module] of text.matchAll(NAMED))
      found.add(normalize(join(dirname(path), `${name}.d.${module}ts`)));
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildTypes();
