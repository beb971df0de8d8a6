/**
 * Runs three services on one Postgres under load. In turn, a process is killed, the server crashes, a link is cut and a process
 * is halted; at the end the database fails over to a copy from three seconds ago. Then every acknowledged entry that the failover
 * did not lose is compared with the log, and the log is verified. Exit code 1: an entry is missing, or nothing was written for more than five seconds
 * after a fault (`--patience MS` for slow machines). `--failover`: only the failover.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startProxy } from "../support/cut_proxy.ts";
import { startPostgres } from "../support/postgres_server.ts";
import { loseToFailover } from "./shared_failover.ts";
import { Load, type Service, startService, wait } from "./shared_load.ts";

const { values } = parseArgs({
  options: { short: { type: "boolean" }, failover: { type: "boolean" }, patience: { type: "string", default: "5000" } },
});
const MIN_ACKNOWLEDGED = values.short ? 2_000 : 50_000;
const INTENT = "dist/local/example/product_intent.json";
/** Time of undisturbed load before a fault, and after it until the gap is measured. */
const BETWEEN_MS = 1_500;
const PATIENCE_MS = Number(values.patience);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const postgres = await startPostgres();
if (!postgres) process.exit(0);
const folder = await mkdtemp(join(tmpdir(), "countersign-shared-"));
const { hostname: host, port } = new URL(postgres.url);
const links = await Promise.all([0, 1, 2].map(() => startProxy({ host, port: Number(port) })));

function start(number: number): Promise<Service> {
  const state = postgres!.url.replace(`${host}:${port}`, links[number]!.host);
  const args = ["--state", state, "--evolved-dir", join(folder, `evolved-${number}`)];
  return startService(number, [...args, "--agent-id", `node-${number}`, "--product-intent", INTENT]);
}

const services = [await start(0), await start(1), await start(2)];
const load = new Load(services, fail);

const faults: Record<string, (number: number) => Promise<void>> = {
  async "a process is killed"(number) {
    const { child } = services[number]!;
    child.kill("SIGKILL");
    await once(child, "exit");
    services[number] = await start(number);
  },
  async "the server crashes"() {
    await postgres.crash();
  },
  async "a link is cut"(number) {
    links[number]!.refuse();
    await wait(1000);
    links[number]!.admit();
  },
  async "a process is halted"(number) {
    const { child } = services[number]!;
    // Longer than the default patience, so that a stall of all processes would be noticed.
    child.kill("SIGSTOP");
    await wait(6000);
    child.kill("SIGCONT");
  },
};

function fail(text: string): void {
  say(`FAULT: ${text}`);
  process.exitCode = 1;
}

load.start();
const longestGaps = new Map<string, number>();
const faultKinds = Object.entries(faults);
/** Limit for slow machines, which end with fewer acknowledged steps instead of later. */
const MAX_FAULTS = (values.short ? 4 : 100) * faultKinds.length;
const isFinished = (count: number) =>
  values.failover ||
  count >= MAX_FAULTS ||
  (count >= 2 * faultKinds.length && load.acknowledged.size >= MIN_ACKNOWLEDGED);
for (let count = 0; !isFinished(count); count++) {
  await wait(BETWEEN_MS);
  const [name, cause] = faultKinds[count % faultKinds.length]!;
  load.watch();
  // Four faults and three services: after twelve faults each service had each fault.
  await cause(count % services.length);
  await wait(BETWEEN_MS);
  const gap = load.longestGap();
  longestGaps.set(name, Math.max(longestGaps.get(name) ?? 0, gap));
  if (gap > PATIENCE_MS) fail(`${name}: nothing was written for ${Math.round(gap)} ms`);
}
const failover = await loseToFailover(postgres, load);
await load.stop();

const log = await (await fetch(`${services[0]!.url}/api/product/audit?format=jsonl`)).text();
const stored = new Map(
  log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number; current_hash: string })
    .map(({ id, current_hash }) => [id, current_hash]),
);
const missing = [...load.acknowledged].filter(([id, { hash }]) => stored.get(id) !== hash).length;
if (missing > 0) fail(`${missing} acknowledged entries are not in the log as they were`);
await writeFile(join(folder, "log.jsonl"), log);
const verified = spawnSync(process.execPath, ["dist/local/verify/main.js", join(folder, "log.jsonl")], {
  encoding: "utf8",
});
// 2: consistent, but compared with nothing outside of the log.
if (verified.status !== 2) fail(`countersign-verify: ${verified.status} ${verified.stdout}${verified.stderr}`);
// The failover's loss was accepted by `ops`.
if (!verified.stdout.includes("ops accepted")) fail(`countersign-verify does not report the loss: ${verified.stdout}`);
say(
  `${load.acknowledged.size} acknowledged and ${load.completed} complete changes, ${missing} missing, ${load.duplicates} ids twice`,
);
say(`${stored.size} entries in the log, verified`);
for (const [name, gap] of longestGaps) say(`  ${name}: no write for ${Math.round(gap)} ms at most`);
const noticed = failover.noticedAfter.map((ms) => `${Math.round(ms)} ms`).join(", ");
say(`  failover: ${failover.lost.size} acknowledged entries lost; noticed by each process after ${noticed}`);
say(`  rejected or unanswered: ${[...load.rejected].map(([code, count]) => `${code} ${count}`).join(", ")}`);
for (const { child } of services) child.kill("SIGKILL");
for (const link of links) await link.stop();
await postgres.stop();
await rm(folder, { recursive: true, force: true });
process.exit();
