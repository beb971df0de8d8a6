/** npm run crash:shared [-- --short]: see shared_faults.ts next to this file; builds it as plain JavaScript first. */
import { join } from "node:path";
import { build } from "esbuild";

const outfile = join("node_modules/.cache/countersign", "crash_shared.mjs");
const entry = join(import.meta.dirname, "shared_faults.ts");
// The modules of test/support find files next to themselves, also when they are part of the bundle.
const define = { "import.meta.dirname": JSON.stringify(join(import.meta.dirname, "../support")) };
const options = { bundle: true, platform: "node", format: "esm", packages: "external" };
await build({ entryPoints: [entry], outfile, define, ...options });
await import(join(process.cwd(), outfile));
