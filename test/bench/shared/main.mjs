/**
 * npm run bench:shared [-- --short] [postgres] [dynamodb]: what shared stores carry, measured in turn in one run, the
 * database next to it on the same machine. Builds these files as plain JavaScript first.
 */
import { join } from "node:path";
import { build } from "esbuild";

const outfile = join("node_modules/.cache/countersign", "bench_shared.mjs");
const entry = join(import.meta.dirname, "run.ts");
// Packages fetched by npm are found from the folder of the files that fetch it.
const define = { "import.meta.dirname": JSON.stringify(join(import.meta.dirname, "../../support")) };
const options = { bundle: true, platform: "node", format: "esm", packages: "external" };
await build({ entryPoints: [entry], outfile, define, ...options });
await import(join(process.cwd(), outfile));
