/**
 * npm run bench [-- --short | --long] [--json FILE] [--guard]: measures the built service, in turn with a node:http server that
 * parses the same form and answers as many bytes. Each row shows the figure that it must reach (`limits.json`). With --guard, a
 * row that misses its guard ends the run with 1. --long: a million changes, ten minutes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { coldImport } from "./cold_import.mjs";
import { measureLongLog } from "./long_log.mjs";
import { measureSteps } from "./change_steps.mjs";
import { oneConnection } from "./one_connection.mjs";
import { endAll, where } from "./programs.mjs";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    guard: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const size = options.long ? "long" : options.short ? "short" : "usual";
// Until the engine has compiled the code, proposals are slower: the first 2,000 by a factor of three, the first 8,000 still
// measurably. The warm-up of the short run is enough for ratios.
const PLANS = {
  short: { warmUp: 3_000, rounds: 3, requests: 1_500, seconds: 3, changes: 3_000, live: 1_000, runs: 3 },
  usual: { warmUp: 10_000, rounds: 7, requests: 5_000, seconds: 30, changes: 100_000, live: 10_000, runs: 21 },
  long: { warmUp: 10_000, rounds: 7, requests: 5_000, seconds: 600, changes: 1_000_000, live: 10_000, runs: 21 },
};
const plan = PLANS[size];
const limits = JSON.parse(await readFile(new URL("limits.json", import.meta.url), "utf8"));
const rows = [];

/** Prints and records a figure; `atLeast`: greater is better. */
function row(name, value, { atLeast = true, details = "" } = {}) {
  const { must, aim, guard } = limits[name] ?? {};
  const meets = (limit) => limit === undefined || (atLeast ? value >= limit : value <= limit);
  rows.push({ name, value, must, aim, guard, met: meets(must), guarded: meets(guard) });
  const format = (number) => (number === undefined ? "" : String(Number(number.toPrecision(3))));
  const verdict = must === undefined ? "" : meets(must) ? "yes" : "no";
  const cells = [
    name.padEnd(26),
    format(value).padStart(8),
    format(must).padStart(8),
    format(aim).padStart(8),
    verdict,
  ];
  console.log(`${cells.join("  ").padEnd(62)}${details}`);
}

try {
  console.log(
    `${where}; ${plan.rounds} rounds of ${plan.requests} requests over 64 connections; Node ${process.version}`,
  );
  console.log(`${"".padEnd(26)}  ${"is".padStart(8)}  ${"must".padStart(8)}  ${"aim".padStart(8)}  met`);
  console.log("relative to node:http, by processor time per request, work after the response included");
  const { steps, written, pause } = await measureSteps(plan);
  for (const { name, ofCpu, ofRate, cpu, perSecond, p99 } of steps)
    // Without /proc there is no processor time.
    row(name, Number.isNaN(ofCpu) ? ofRate : ofCpu, {
      details: `${cpu.toFixed(0)} µs; ${Math.round(perSecond)}/s, ${ofRate.toFixed(3)} of its rate; p99 ${p99.toFixed(1)} ms`,
    });
  console.log("bytes on disk per step");
  for (const { name, bytes } of written)
    row(name === "propose" ? "bytes a proposal" : `bytes of ${name}`, bytes, { atLeast: false });
  row("longest pause, ms", pause, {
    atLeast: false,
    details: `of the event loop in ${plan.seconds} s of proposals and denials`,
  });
  const { proposal, sync, ratio } = await oneConnection(plan);
  row("one connection, in syncs", ratio, {
    atLeast: false,
    details: `${proposal.toFixed(2)} ms a proposal, ${sync.toFixed(2)} ms a write and fdatasync`,
  });
  console.log(`with ${plan.changes} changes, ${plan.live} of them live`);
  const results = {
    start: ["start, s", { atLeast: false }],
    memory: ["memory, MiB", { atLeast: false, details: "resident after the start" }],
    proposingEarly: ["proposals, just started", { details: "while the log may still be verified and projected" }],
    readingEarly: ["audit pages, just started", { details: "while the log may still be verified and projected" }],
    proposing: ["proposals, long log", { details: "of the rate with 1,000 changes" }],
    reading: ["audit pages, long log", { details: "of the rate with 1,000 changes" }],
    verified: ["verify, s", { atLeast: false, details: "countersign-verify of the export" }],
  };
  for await (const figures of measureLongLog(plan))
    for (const [name, value] of Object.entries(figures)) {
      const [title, rowOptions] = results[name];
      row(title, value, rowOptions);
    }
  row("cold import, ms", await coldImport(plan), {
    atLeast: false,
    details: "product/approve on Lambda, over an empty module",
  });
} finally {
  await endAll();
}
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ size, rows }, null, 2)}\n`);
const missed = rows.filter(({ guarded }) => !guarded).map(({ name }) => name);
if (options.guard && missed.length > 0) {
  console.error(`guard missed: ${missed.join(", ")}`);
  process.exitCode = 1;
}
