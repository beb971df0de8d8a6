/**
 * npm run bench:reads: measures how long other requests wait while the complete log is read. Packs and exports of 5,000 changes
 * are read while /livez is requested every 50 ms, and the service is frozen and unfrozen while eight clients read packs. Exit
 * code 1: over a limit.
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

/** Reads a response to its end and returns its length in bytes; undefined for 503. */
async function readAll(address) {
  const answer = await fetch(address);
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  return answer.status === 503 ? undefined : bytes;
}

/** Requests /livez until `work` has ended; returns the waits in milliseconds. */
async function probe(work) {
  const waits = [];
  let isFinished = false;
  const finished = work.finally(() => (isFinished = true));
  const requests = [];
  while (!isFinished) {
    const startedAt = performance.now();
    requests.push(readAll(`${url}/livez`).then(() => waits.push(performance.now() - startedAt)));
    await setTimeout(LIVEZ_EVERY_MS);
  }
  await Promise.all(requests);
  await finished;
  return waits.sort((a, b) => a - b);
}

const formatMs = (ms) => `${ms.toFixed(0)} ms`;
const misses = [];
/** Prints a figure with its limit. */
function row(name, ms, limit, details) {
  console.log(`${name.padEnd(34)} ${formatMs(ms).padStart(9)}  limit ${formatMs(limit)}${details}`);
  if (ms > limit) misses.push(name);
}

try {
  console.log(`${where}; ${CHANGES} changes of ${Math.round(VALUE.length / 1000)} KB; Node ${process.version}`);
  await load({ port, request: () => proposal, expected: 201, count: CHANGES, connections: 16 });
  await readAll(pack);
  for (const [name, address] of [
    ["pack", pack],
    ["pack as a page", `${pack}&format=html`],
    ["export", `${url}/api/product/export`],
    ["CSV", `${url}/api/product/audit?format=csv`],
    ["JSONL", `${url}/api/product/audit?format=jsonl`],
  ]) {
    let bytes;
    const startedAt = performance.now();
    const waits = await probe(readAll(address).then((count) => (bytes = count)));
    const tookS = ((performance.now() - startedAt) / 1000).toFixed(1);
    const median = formatMs(waits[Math.floor(waits.length / 2)]);
    row(
      `longest /livez, ${name}`,
      waits.at(-1),
      MAX_LIVEZ_MS,
      `; median ${median} of ${waits.length}; ${(bytes / 1e6).toFixed(0)} MB in ${tookS} s`,
    );
  }
  let isFinished = false;
  const readers = Array.from({ length: READERS }, async () => {
    while (!isFinished) if ((await readAll(pack)) === undefined) await setTimeout(20);
  });
  const freezes = [];
  for (let count = 0; count < FREEZES; count++) {
    await setTimeout(300);
    const startedAt = performance.now();
    const body = new URLSearchParams({ actor: "ops" });
    const answer = await fetch(`${url}/api/product/${count % 2 === 0 ? "freeze" : "unfreeze"}`, {
      method: "POST",
      body,
    });
    freezes.push(performance.now() - startedAt);
    if (answer.status !== 200) throw new Error(`freeze answered ${answer.status}: ${await answer.text()}`);
  }
  isFinished = true;
  await Promise.all(readers);
  row(`longest freeze, ${READERS} readers`, Math.max(...freezes), MAX_FREEZE_MS, `; ${FREEZES} of them`);
} finally {
  await endAll();
}
if (misses.length > 0) {
  console.error(`over its limit: ${misses.join(", ")}`);
  process.exitCode = 1;
}
