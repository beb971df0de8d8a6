/**
 * npm run soak [-- --minutes N] [-- --short]: loads a service with cycles steadily, and measures /livez in each minute. The load
 * is changes with an expected KPI and their own target, each proposed, approved and applied, so that the number of open outcomes
 * grows. Exit code 1: the 99th percentile of the last minute is more than twice that of the first.
 */
import { Agent, request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { findChangeId } from "./load.mjs";
import { processorTime } from "./cpu_time.mjs";
import { endAll, measureMemory, startService, temporaryFolder, where } from "./programs.mjs";

const { values: options } = parseArgs({ options: { minutes: { type: "string" }, short: { type: "boolean" } } });
const MINUTES = Number(options.minutes ?? (options.short ? 2 : 15));
const CHANGES_PER_SECOND = 20;
const LIVEZ_EVERY_MS = 50;
const CHANGES_PER_KPI_FEED = 200;
const MAX_GROWTH = 2;

const server = await startService(await temporaryFolder(), undefined, ["--cycle-interval", "10"]);
const agent = new Agent({ keepAlive: true });

/** Sends a request and returns the response body; throws on any other status. */
function send(method, path, fields, expected) {
  const body = fields && new URLSearchParams(fields).toString();
  const headers = body && { "content-type": "application/x-www-form-urlencoded", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ port: server.port, agent, method, path, headers }, async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const answer = Buffer.concat(chunks);
      if (response.statusCode === expected) resolve(answer);
      else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${answer}`));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

let acknowledged = 0;
async function post(path, fields, status) {
  const answer = await send("POST", `/api/product/${path}`, fields, status);
  acknowledged++;
  return answer;
}

async function bringToApplied(number) {
  const proposal = {
    tenant_id: `t${number % 20}`,
    kind: "config",
    target: `ui.banner_${number}`,
    summary: "Show the banner",
    value: '{"on":true}',
    kpi: "deal_win_rate",
    expected_delta_k: "10",
  };
  const change_id = findChangeId(await post("propose", proposal, 201));
  await post("approve", { change_id, approver: "ana" }, 200);
  await post("apply", { change_id }, 200);
  if (number % CHANGES_PER_KPI_FEED === 0)
    await post("kpi", { deal_win_rate: String(0.22 + (number % 7) / 1000) }, 200);
}

/** Calls a function at a steady rate until `end`, independent of their durations; resolves when all calls have ended. */
async function callAtRate(perSecond, end, call) {
  const startedAt = performance.now();
  const calls = [];
  for (let number = 0; performance.now() < end; number++) {
    calls.push(call(number));
    await setTimeout(Math.max(0, startedAt + ((number + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(calls);
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const formatMs = (ms) => `${ms.toFixed(1)} ms`;

try {
  console.log(`${where}; ${CHANGES_PER_SECOND} changes a second, a cycle each 10 s; Node ${process.version}`);
  const startedAt = performance.now();
  const end = startedAt + MINUTES * 60_000;
  const waits = Array.from({ length: MINUTES }, () => []);
  const findMinute = (moment) => Math.min(MINUTES - 1, Math.floor((moment - startedAt) / 60_000));
  const changes = callAtRate(CHANGES_PER_SECOND, end, bringToApplied);
  const probes = callAtRate(1000 / LIVEZ_EVERY_MS, end, async () => {
    const sent = performance.now();
    await send("GET", "/livez", undefined, 200);
    waits[findMinute(sent)].push(performance.now() - sent);
  });
  const p99 = [];
  const minutes = (async () => {
    let before = { acknowledged, processor: await processorTime(server) };
    for (let minute = 0; minute < MINUTES; minute++) {
      await setTimeout(startedAt + (minute + 1) * 60_000 - performance.now());
      const sorted = waits[minute].toSorted((a, b) => a - b);
      p99.push(percentile(sorted, 0.99));
      const now = { acknowledged, processor: await processorTime(server) };
      const writes = now.acknowledged - before.acknowledged;
      // `processorTime` returns microseconds.
      const stepMs = (now.processor - before.processor) / writes / 1000;
      before = now;
      const figures = `p50 ${formatMs(percentile(sorted, 0.5))}, p99 ${formatMs(p99.at(-1))}, longest ${formatMs(sorted.at(-1))}`;
      const memory = Math.round(await measureMemory(server));
      console.log(`minute ${minute + 1}: livez ${figures}; ${formatMs(stepMs)} of processor a step; ${memory} MiB`);
    }
  })();
  await Promise.all([changes, probes, minutes]);
  const growth = p99.at(-1) / p99[0];
  console.log(`${acknowledged} writes acknowledged; p99 of the last minute ${growth.toFixed(2)} of the first's`);
  if (growth > MAX_GROWTH) process.exitCode = 1;
} finally {
  agent.destroy();
  await endAll();
}
