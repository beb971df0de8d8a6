/**
 * npm run bench:reads: how long others wait while the whole log is read. A pack of 5,000 changes is taken while /livez is
 * requested every 50 ms, and the service is frozen while eight readers ask for packs. Ends with 1 where a limit is missed.
 */
import { setTimeout } from "node:timers/promises";
import { load, requestBytes } from "./load.mjs";
import { endAll, startService, temporaryFolder, where } from "./programs.mjs";

const CHANGES = 5_000;
const VALUE = JSON.stringify({ text: "x".repeat(12_000) });
const LIVEZ_EVERY_MS = 50;
const MAX_LIVEZ_MS = 250;
const MAX_FREEZE_MS = 1_000;
const READERS = 8;
const FREEZES = 5;

const proposal = requestBytes("POST", "/api/product/propose", {
  tenant_id: "t1",
  kind: "config",
  target: "ui.banner",
  summary: "Show the banner",
  value: VALUE,
});

const folder = await temporaryFolder();
const { port } = await startService(folder);
const url = `http://127.0.0.1:${port}`;
const pack = `${url}/api/product/pack?from=2020-01-01T00:00:00Z`;

/** Takes an answer to its end and returns its bytes; undefined for 503. */
async function take(address) {
  const answer = await fetch(address);
  let bytes = 0;
  for await (const piece of answer.body) bytes += piece.length;
  return answer.status === 503 ? undefined : bytes;
}

/** Requests /livez until `work` has ended; returns the waits in milliseconds. */
async function probe(work) {
  const waits = [];
  let isOver = false;
  const over = work.finally(() => (isOver = true));
  const asked = [];
  while (!isOver) {
    const begun = performance.now();
    asked.push(take(`${url}/livez`).then(() => waits.push(performance.now() - begun)));
    await setTimeout(LIVEZ_EVERY_MS);
  }
  await Promise.all(asked);
  await over;
  return waits.sort((a, b) => a - b);
}

const shown = (ms) => `${ms.toFixed(0)} ms`;
const misses = [];
/** Prints a figure with its limit. */
function row(name, ms, limit, more) {
  console.log(`${name.padEnd(34)} ${shown(ms).padStart(9)}  limit ${shown(limit)}${more}`);
  if (ms > limit) misses.push(name);
}

try {
  console.log(`${where}; ${CHANGES} changes of ${Math.round(VALUE.length / 1000)} KB; Node ${process.version}`);
  await load({ port, request: () => proposal, expected: 201, count: CHANGES, connections: 16 });
  await take(pack);
  for (const [name, address] of [
    ["pack", pack],
    ["pack as a page", `${pack}&format=html`],
    ["export", `${url}/api/product/export`],
    ["CSV", `${url}/api/product/audit?format=csv`],
    ["JSONL", `${url}/api/product/audit?format=jsonl`],
  ]) {
    let bytes;
    const begun = performance.now();
    const waits = await probe(take(address).then((count) => (bytes = count)));
    const tookS = ((performance.now() - begun) / 1000).toFixed(1);
    const median = shown(waits[Math.floor(waits.length / 2)]);
    row(
      `longest /livez, ${name}`,
      waits.at(-1),
      MAX_LIVEZ_MS,
      `; median ${median} of ${waits.length}; ${(bytes / 1e6).toFixed(0)} MB in ${tookS} s`,
    );
  }
  let isOver = false;
  const readers = Array.from({ length: READERS }, async () => {
    while (!isOver) if ((await take(pack)) === undefined) await setTimeout(20);
  });
  const freezes = [];
  for (let count = 0; count < FREEZES; count++) {
    await setTimeout(300);
    const begun = performance.now();
    const body = new URLSearchParams({ actor: "ops" });
    const answer = await fetch(`${url}/api/product/${count % 2 === 0 ? "freeze" : "unfreeze"}`, {
      method: "POST",
      body,
    });
    freezes.push(performance.now() - begun);
    if (answer.status !== 200) throw new Error(`freeze answered ${answer.status}: ${await answer.text()}`);
  }
  isOver = true;
  await Promise.all(readers);
  row(`longest freeze, ${READERS} readers`, Math.max(...freezes), MAX_FREEZE_MS, `; ${FREEZES} of them`);
} finally {
  await endAll();
}
if (misses.length > 0) {
  console.error(`over its limit: ${misses.join(", ")}`);
  process.exitCode = 1;
}
