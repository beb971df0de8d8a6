/** Builds show.ts as plain JavaScript and runs it: `npm run month` serves the simulated month to a browser. */
import { join } from "node:path";
import { build } from "esbuild";

const outfile = join("node_modules/.cache/countersign", "month.mjs");
const entry = join(import.meta.dirname, "show.ts");
await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", packages: "external" });
await import(join(process.cwd(), outfile));
