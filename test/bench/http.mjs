/**
 * npm run bench [-- --short]: durable proposals and audit pages of the built service, over HTTP with 64 connections,
 * beside node:http alone in the same run; and the same service with a short and with a long log. Prints ratios, and the
 * round trips of the pages that people look at.
 */
import { fork, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { load, median, requestBytes } from "./load.mjs";

const short = process.argv.includes("--short");
const LONG_LOG = short ? 20_000 : 200_000;
const ROUNDS = short ? 3 : 7;
const SECONDS = short ? 0.7 : 2;

const propose = requestBytes(
  "POST",
  "/api/product/propose-crm-followup",
  "tenant_id=t1&affected_users=40&expected_delta_k=12",
);
const auditPage = requestBytes("GET", "/api/product/audit?limit=100");
const started = [];

async function startService(name) {
  const folder = await mkdtemp(join(tmpdir(), `countersign-bench-${name}-`));
  const options = ["--port", "0", "--cycle-interval", "0", "--state", join(folder, "state.json")];
  const intent = ["--product-intent", join(import.meta.dirname, "../../local/example/product_intent.json")];
  const program = join(import.meta.dirname, "../../dist/local/ui_server.js");
  const child = spawn(process.execPath, [program, ...options, ...intent], { stdio: ["ignore", "ignore", "pipe"] });
  started.push({ child, folder });
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, url } = JSON.parse(line);
    if (message === "listening") {
      child.stderr.resume();
      return { port: Number(new URL(url).port), pid: child.pid };
    }
  }
  throw new Error("the service did not start");
}

async function startRaw(entryBytes) {
  const child = fork(new URL("./raw_server.mjs", import.meta.url), [String(entryBytes)]);
  started.push({ child });
  return { port: await new Promise((resolve) => child.once("message", resolve)) };
}

const fill = (service, count) => load({ port: service.port, bytes: propose, expected: 201, count });

/** Runs two loads in turn, so that a drifting machine drifts for both; the ratio is the median of the pairs. */
async function sideBySide(a, b) {
  const pairs = [];
  for (const warmUp of [a, b]) await load({ ...warmUp, seconds: SECONDS });
  for (let round = 0; round < ROUNDS; round++)
    pairs.push([await load({ ...a, seconds: SECONDS }), await load({ ...b, seconds: SECONDS })]);
  return {
    a: median(pairs.map(([x]) => x.perSecond)),
    b: median(pairs.map(([, y]) => y.perSecond)),
    p99: median(pairs.map(([x]) => x.p99)),
    ratio: median(pairs.map(([x, y]) => x.perSecond / y.perSecond)),
  };
}

async function memory({ pid }) {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const peak = /VmHWM:\s+(\d+)/.exec(status);
  const now = /VmRSS:\s+(\d+)/.exec(status);
  return now
    ? `${Math.round(now[1] / 1024)} MiB now, ${Math.round(peak[1] / 1024)} MiB at most`
    : "not known on this system";
}

/** One request after another: the middle and the longest round trip but one in a hundred, in milliseconds. */
async function latency({ port }, path) {
  const times = [];
  for (let n = 0; n < 200; n++) {
    const began = performance.now();
    await fetch(`http://127.0.0.1:${port}${path}`).then((answer) => answer.text());
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return `${median(times).toFixed(1)} ms, p99 ${times[197].toFixed(1)} ms`;
}

const row = (what, { a, b, ratio, p99 }) =>
  console.log(
    `${what}: ${Math.round(a)}/s against ${Math.round(b)}/s, ratio ${ratio.toFixed(3)}, p99 ${p99.toFixed(1)} ms`,
  );

try {
  const small = await startService("short-log");
  await fill(small, 1_000);
  const entry = await fetch(`http://127.0.0.1:${small.port}/api/product/audit?limit=1`).then((answer) => answer.text());
  const raw = await startRaw(entry.length - 200);
  console.log(`64 connections, ${ROUNDS} rounds of ${SECONDS} s each, in turn; Node ${process.version}`);

  const post = (port, expected) => ({ port, bytes: propose, expected });
  const read = (port) => ({ port, bytes: auditPage, expected: 200 });
  row("durable proposals against a node:http form echo", await sideBySide(post(small.port, 201), post(raw.port, 200)));
  row(
    "audit pages of 100 entries against node:http sending as many bytes",
    await sideBySide(read(small.port), read(raw.port)),
  );

  const fresh = await startService("fresh-log");
  await fill(fresh, 1_000);
  const long = await startService("long-log");
  await fill(long, LONG_LOG);
  console.log(`memory with ${LONG_LOG} entries: ${await memory(long)}; with 1000: ${await memory(fresh)}`);
  row(
    `proposals with ${LONG_LOG} entries in the log against 1000`,
    await sideBySide(post(long.port, 201), post(fresh.port, 201)),
  );
  row(
    `audit pages with ${LONG_LOG} entries in the log against 1000`,
    await sideBySide(read(long.port), read(fresh.port)),
  );
  for (const path of ["/api/state", "/api/log", "/api/capabilities", "/livez"])
    console.log(
      `GET ${path} with ${LONG_LOG} changes: ${await latency(long, path)}; with 1000: ${await latency(fresh, path)}`,
    );
} finally {
  for (const { child, folder } of started) {
    child.kill("SIGKILL");
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}
