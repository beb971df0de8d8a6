/**
 * npm run bench:shared [-- --short] [postgres] [dynamodb]: measures services on shared stores, with the database on the same
 * machine. Builds these files as plain JavaScript first.
 */
import { join } from "node:path";
import { build } from "esbuild";

const outfile = join("node_modules/.cache/countersign", "bench_shared.mjs");
const entry = join(import.meta.dirname, "run.ts");
// test/support/fetched_package.ts finds its packages relative to its own folder.
const define = { "import.meta.dirname": JSON.stringify(join(import.meta.dirname, "../../support")) };
const options = { bundle: true, platform: "node", format: "esm", packages: "external" };
await build({ entryPoints: [entry], outfile, define, ...options });
await import(join(process.cwd(), outfile));
