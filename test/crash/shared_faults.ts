/**
 * Three services on one Postgres under load, while a process is killed, the server crashes, a link is cut and a process is
 * halted, in turn, and at the end the database fails over to a copy of three seconds ago; then every entry that was acknowledged is looked for in the log, and the log is verified. Exit code 1: one
 * is missing, or after a fault nothing was written for more than five seconds (`--patience MS` on slow machines).
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { startProxy } from "../support/cut_proxy.ts";
import { startPostgres } from "../support/postgres_server.ts";

const { values } = parseArgs({
  options: { short: { type: "boolean" }, patience: { type: "string", default: "5000" } },
});
const ENOUGH = values.short ? 2_000 : 50_000;
const CALLERS = 8;
const BETWEEN_MS = 1_500;
const PATIENCE_MS = Number(values.patience);
const BODY = "tenant_id=t1&affected_users=40&expected_delta_k=12";
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Service {
  child: ChildProcess;
  url: string;
  number: number;
}

const postgres = await startPostgres();
if (!postgres) process.exit(0);
const folder = await mkdtemp(join(tmpdir(), "countersign-shared-"));
const { hostname: host, port } = new URL(postgres.url);
const links = await Promise.all([0, 1, 2].map(() => startProxy({ host, port: Number(port) })));

async function start(number: number): Promise<Service> {
  const state = postgres!.url.replace(`${host}:${port}`, links[number]!.host);
  const args = ["--port", "0", "--state", state, "--evolved-dir", join(folder, `evolved-${number}`)];
  const named = ["--agent-id", `node-${number}`, "--product-intent", "dist/local/example/product_intent.json"];
  const child = spawn(process.execPath, ["dist/local/ui_server.js", ...args, ...named], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, url } = JSON.parse(line) as { message: string; url: string };
    if (message !== "listening") continue;
    child.stderr.resume();
    return { child, url: new URL(url).origin, number };
  }
  // It was started while the database was away.
  await wait(300);
  return start(number);
}

const services = [await start(0), await start(1), await start(2)];
const acknowledged = new Map<number, string>();
const refused = new Map<string, number>();
let last = performance.now();
let longest = 0;
let ended = false;

async function call(number: number): Promise<void> {
  while (!ended) {
    const { url } = services[number]!;
    try {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const signal = AbortSignal.timeout(20_000);
      const response = await fetch(`${url}/api/product/propose-crm-followup`, {
        method: "POST",
        headers,
        body: BODY,
        signal,
      });
      const answer = (await response.json()) as { code?: string; audit_entry?: { id: number; current_hash: string } };
      if (response.status === 201) {
        const { id, current_hash } = answer.audit_entry!;
        if (acknowledged.has(id)) fail(`entry ${id} was acknowledged twice`);
        acknowledged.set(id, current_hash);
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
        continue;
      }
      refused.set(String(answer.code), (refused.get(String(answer.code)) ?? 0) + 1);
    } catch {
      refused.set("no answer", (refused.get("no answer") ?? 0) + 1);
    }
    await wait(50);
  }
}

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
    child.kill("SIGSTOP");
    await wait(6000);
    child.kill("SIGCONT");
  },
};

/** Rows of the store, as they were at a moment. */
const COPIED = ["countersign_rows", "countersign_heads"];

/** Runs one statement after the other in one transaction of the database. */
async function inDatabase(...statements: string[]): Promise<void> {
  await postgres!.pool.query(["begin", ...statements, "commit"].join(";"));
}

/**
 * A failover that loses the last three seconds: the database is as it was, behind the same address. Each process notices it
 * by its next write, and no id is given twice until a person accepts the loss.
 */
async function loseThreeSeconds(): Promise<void> {
  await inDatabase(
    ...COPIED.flatMap((table) => [
      `drop table if exists ${table}_copy`,
      `create table ${table}_copy as table ${table}`,
    ]),
  );
  await wait(3000);
  await inDatabase(
    `lock table ${COPIED.join(", ")} in access exclusive mode`,
    ...COPIED.flatMap((table) => [`delete from ${table}`, `insert into ${table} table ${table}_copy`]),
  );
  await wait(3000);
  for (const { url, number } of services) {
    const { status, body } = await post(url, "propose-crm-followup", BODY);
    if (status !== 503 || body["code"] !== "chain_broken")
      fail(`process ${number} did not notice the failover: ${status}`);
  }
  const { url } = services[0]!;
  const verified = (await (await fetch(`${url}/api/product/audit/verify`)).json()) as { length: number; head: string };
  for (const id of acknowledged.keys()) if (id > verified.length) acknowledged.delete(id);
  const { length, head } = verified;
  const accepted = await post(url, "audit/accept-loss", `actor=ops&note=failover&length=${length}&head=${head}`);
  if (accepted.status !== 200) fail(`accept-loss: ${accepted.status} ${JSON.stringify(accepted.body)}`);
  for (const service of services) {
    const { status } = await post(service.url, "propose-crm-followup", BODY);
    if (status !== 201) fail(`process ${service.number} does not go on after accept-loss: ${status}`);
  }
}

async function post(url: string, path: string, body: string) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(`${url}/api/product/${path}`, { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function fail(text: string): void {
  say(`FAULT: ${text}`);
  process.exitCode = 1;
}

const calling = [0, 1, 2].flatMap((number) => Array.from({ length: CALLERS }, () => call(number)));
const worst = new Map<string, number>();
const kinds = Object.entries(faults);
for (let count = 0; count < 2 * kinds.length || acknowledged.size < ENOUGH; count++) {
  await wait(BETWEEN_MS);
  const [name, bring] = kinds[count % kinds.length]!;
  longest = 0;
  last = performance.now();
  await bring(count % 3);
  await wait(BETWEEN_MS);
  const gap = Math.max(longest, performance.now() - last);
  worst.set(name, Math.max(worst.get(name) ?? 0, gap));
  if (gap > PATIENCE_MS) fail(`${name}: nothing was written for ${Math.round(gap)} ms`);
}
await loseThreeSeconds();
ended = true;
await Promise.all(calling);

const log = await (await fetch(`${services[0]!.url}/api/product/audit?format=jsonl`)).text();
const kept = new Map(
  log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number; current_hash: string })
    .map(({ id, current_hash }) => [id, current_hash]),
);
const lost = [...acknowledged].filter(([id, hash]) => kept.get(id) !== hash).length;
if (lost > 0) fail(`${lost} acknowledged entries are not in the log as they were`);
await writeFile(join(folder, "log.jsonl"), log);
const verified = spawnSync(process.execPath, ["dist/local/verify/main.js", join(folder, "log.jsonl")], {
  encoding: "utf8",
});
if (verified.status !== 2) fail(`countersign-verify: ${verified.status} ${verified.stdout}${verified.stderr}`);
say(`${acknowledged.size} acknowledged, ${lost} lost; ${kept.size} entries in the log, verified`);
for (const [name, gap] of worst) say(`  ${name}: no write for ${Math.round(gap)} ms at most`);
say(`  refused or unanswered: ${[...refused].map(([code, count]) => `${code} ${count}`).join(", ")}`);
for (const { child } of services) child.kill("SIGKILL");
for (const link of links) await link.stop();
await postgres.stop();
await rm(folder, { recursive: true, force: true });
process.exit();
