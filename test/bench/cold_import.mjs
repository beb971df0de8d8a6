/** Measures how long a new process takes to import the Lambda bundle of one handler, compared with an empty module. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildLambda } from "../../esbuild.config.mjs";
import { median } from "./load.mjs";
import { temporaryFolder } from "./programs.mjs";

const HANDLER = "product/approve";

const program = `
const began = performance.now();
await import(process.argv[1]);
console.log(performance.now() - began);
process.exit();`;

function measureImport(file) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program, file]);
  if (status !== 0) throw new Error(String(stderr));
  return Number(stdout);
}

/** Returns the median of the additional time for the bundle, in milliseconds. */
export async function coldImport({ runs }) {
  const folder = await temporaryFolder();
  await buildLambda(folder, (name) => name === HANDLER);
  const empty = join(folder, "empty.mjs");
  writeFileSync(empty, "export const handler = () => {};\n");
  const bundle = join(folder, HANDLER, "index.mjs");
  const measureAdditional = () => {
    const emptyMs = measureImport(empty);
    return measureImport(bundle) - emptyMs;
  };
  return median(Array.from({ length: runs }, measureAdditional));
}
