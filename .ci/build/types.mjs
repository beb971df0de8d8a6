/** Builds the type declarations of the exports of the package, and of no other module. */
import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { root } from "./root.mjs";

/** Matches the files that a declaration file refers to. */
const REFERENCED_FILE = /["'](\.{1,2}\/[^"']+?)(?:\.d)?\.(m?)[jt]s["']/g;

/** Writes the declarations next to the built files of a folder. */
export async function buildTypes(outdir = join(root, "dist")) {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const project = join(root, ".ci/tsconfig.types.json");
  await promisify(execFile)(process.execPath, [compiler, "-p", project, "--outDir", outdir]).catch((error) => {
    throw new Error(error.stdout || error.message);
  });
  const files = (await readdir(outdir, { recursive: true })).filter((path) => path.endsWith(".d.ts"));
  const needed = await addReferenced(outdir, await selectExported(files));
  await Promise.all(files.filter((path) => !needed.has(path)).map((path) => rm(join(outdir, path))));
}

/** Selects the files that the package exports. */
async function selectExported(files) {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return files.filter((path) =>
    Object.values(exports).some(({ types }) => {
      const [start, end] = types?.replace("./dist/", "").split("*") ?? [];
      return end === undefined ? path === start : path.startsWith(start) && path.endsWith(end);
    }),
  );
}

/** Returns these files and all to which they refer. */
async function addReferenced(folder, from) {
  const referenced = new Set(from);
  // The loop also visits the files that are added to the set meanwhile.
  for (const path of referenced) {
    const text = await readFile(join(folder, path), "utf8");
    for (const [, name, module] of text.matchAll(REFERENCED_FILE))
      referenced.add(normalize(join(dirname(path), `${name}.d.${module}ts`)));
  }
  return referenced;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildTypes();
