/**
 * npm run bench:shared [-- --short] [postgres] [dynamodb]: what shared stores carry, measured in turn in one run, the
 * database beside it on the same machine. Builds these files as plain JavaScript first.
 */
import { join } from "node:path";
import { build } from "esbuild";

const outfile = join("node_modules/.cache/countersign", "bench_shared.mjs");
const entry = join(import.meta.dirname, "run.ts");
await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", packages: "external" });
await import(join(process.cwd(), outfile));
