// A small host product: every half second it reads the config file, absent until the first apply, and prints changes of `values`.
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

const path = process.argv[2] ?? "data/product_config.json";
let current = new Map();

async function react() {
  const text = await readFile(path, "utf8").catch((error) => (error.code === "ENOENT" ? "" : Promise.reject(error)));
  const { values = {} } = JSON.parse(text.trim() || "{}");
  const next = new Map();
  for (const [tenant, targets] of Object.entries(values))
    for (const [target, value] of Object.entries(targets)) next.set(`${tenant} ${target}`, JSON.stringify(value));
  for (const [name, value] of next) if (current.get(name) !== value) console.log(`${name} = ${value}`);
  for (const name of current.keys()) if (!next.has(name)) console.log(`${name} is not set`);
  current = next;
}

console.log(`watching ${path}`);
for (;;) {
  await react().catch((error) => console.error(`keeping the current values: ${error.message}`));
  await setTimeout(500);
}
