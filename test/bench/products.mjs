/**
 * Measures many products in one process: the time to open each, its memory, and its store requests while it is idle.
 * `node --expose-gc test/bench/products.mjs [memory|postgres://…] [products]`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { Client, Pool } from "pg";

const [where = "memory", count = "300"] = process.argv.slice(2);
const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(root, "node_modules", ".products-"));
process.once("exit", () => rmSync(folder, { recursive: true }));
const { countersign, memoryStore, postgresStore } = await loadBundle();

const pool = where === "memory" ? undefined : new Pool({ connectionString: where, max: 10 });
let statements = 0;
const { query } = Client.prototype;
Client.prototype.query = function (...args) {
  statements++;
  return query.apply(this, args);
};

let now = Date.now();
const clock = { now: () => now, monotonic: () => now };
const measureHeap = () => (globalThis.gc?.(), process.memoryUsage().heapUsed);
const before = measureHeap();
const began = performance.now();
const services = [];
for (let number = 0; number < Number(count); number++) {
  const product_id = `product-${number}`;
  const store = pool ? await postgresStore({ pool, name: product_id }) : memoryStore();
  const intent = { product_id, version: "1", approved_by: "bench", update_epoch: 1 };
  services.push(await countersign({ store, intent, clock }));
}
const openMs = performance.now() - began;
const fields = { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" };
const propose = ({ fetch }) =>
  fetch(
    new Request("http://localhost/api/product/propose-crm-followup", {
      method: "POST",
      body: new URLSearchParams(fields),
    }),
  );
const proposing = performance.now();
for (const answer of await Promise.all(services.map(propose)))
  if (answer.status !== 201) throw new Error(await answer.text());
const proposeMs = performance.now() - proposing;
// Memory with one proposal in each product.
const heapBytes = measureHeap() - before;

/** Runs a cycle of each product a minute later, and returns the number of statements. */
async function runCycles() {
  now += 60_000;
  statements = 0;
  for (const { cycle } of services) await cycle();
  return statements;
}
const statementsPerMinute = [];
for (let minute = 0; minute < 12; minute++) statementsPerMinute.push(await runCycles());
const figure = {
  where: pool ? "postgres" : "memory",
  products: services.length,
  ms_to_open_each: Number((openMs / services.length).toFixed(2)),
  kb_each: Math.round(heapBytes / services.length / 1024),
  proposals_a_second: Math.round((services.length * 1000) / proposeMs),
  statements_a_minute_each: statementsPerMinute.map((sum) => Number((sum / services.length).toFixed(1))),
};
console.log(JSON.stringify(figure));
for (const { close } of services) await close();
await pool?.end();

async function loadBundle() {
  const outfile = join(folder, "bundle.mjs");
  const stdin = {
    resolveDir: root,
    contents: `export { countersign } from "./handlers/index.ts";
      export { memoryStore } from "./lib/store/memory.ts";
      export { postgresStore } from "./lib/store/postgres/store.ts";`,
  };
  await esbuild.build({ stdin, outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  return import(pathToFileURL(outfile).href);
}
