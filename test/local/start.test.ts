import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Log } from "../../lib/kit/platform.ts";
import { acquireLock } from "../../local/lock.ts";
import { parseOptions, type Environment } from "../../local/options.ts";
import { start, type Running } from "../../local/start.ts";

let folder: string;
let running: Running[];
let logged: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "start-"));
  running = [];
  logged = [];
  const intent = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };
  await writeFile(join(folder, "intent.json"), JSON.stringify(intent));
});
afterEach(async () => {
  for (const { stop } of running) await stop();
  await rm(folder, { recursive: true });
});

async function begin(argv: string[] = [], env: Environment = {}): Promise<Running> {
  const note = (message: string) => void logged.push(message);
  const log: Log = { info: note, warn: note, error: note };
  const files = [`--state=${join(folder, "state.json")}`, `--product-intent=${join(folder, "intent.json")}`];
  const parsed = parseOptions(["--port=0", "--cycle-interval=0", ...files, ...argv], env);
  if (parsed.kind !== "run") throw new Error("expected options");
  const started = await start(parsed.options, log);
  running.push(started);
  return started;
}

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), headers });
const propose = ({ url }: Running, headers: Record<string, string> = {}, more: Record<string, string> = {}) =>
  post(
    `${url}/api/product/propose-crm-followup`,
    { tenant_id: "t1", affected_users: "40", expected_delta_k: "12", ...more },
    headers,
  );

async function tick({ url }: Running): Promise<number> {
  return ((await (await fetch(`${url}/api/state`)).json()) as { tick: number }).tick;
}

test("stopping makes the snapshot current, and lets go of the state file", async () => {
  const program = await begin();
  expect((await propose(program)).status).toBe(201);
  await program.stop();
  const snapshot = JSON.parse(await readFile(join(folder, "state.json"), "utf8"));
  expect(snapshot).toMatchObject({ product_runtime: { product_id: "acme-crm" } });
  expect(JSON.stringify(snapshot)).toContain("pending_consent");
  await (await acquireLock(join(folder, "state.json"))).release();
  await program.stop();
});

test("a start that fails lets go of the state file", async () => {
  const taken = http.createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  const { port } = taken.address() as { port: number };
  await expect(begin([`--port=${port}`])).rejects.toThrow(`--port ${port}: something listens there already`);
  taken.close();
  expect((await propose(await begin())).status).toBe(201);
});

test("the admin token guards writes", async () => {
  const program = await begin([], { SVC_ADMIN_TOKEN: "t0ken" });
  expect((await propose(program)).status).toBe(401);
  expect((await propose(program, { "x-svc-admin-token": "t0ken" })).status).toBe(201);
});

test("the identity header names the person", async () => {
  const program = await begin(["--identity-header=X-Person"]);
  expect((await propose(program, { "x-person": "ana" }, { proposer: "bo" })).status).toBe(403);
  expect((await propose(program, { "x-person": "ana" }, { proposer: "ana" })).status).toBe(201);
  expect(logged).not.toContain("try next");
});

test("listed hosts may be named by Host, and their pages may write", async () => {
  const program = await begin(["--allowed-hosts=gov.example"]);
  const status = async (host: string) => {
    const [response] = (await once(http.get(program.url, { headers: { host } }), "response")) as [http.IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  expect([await status("gov.example"), await status("localhost:1"), await status("evil.example")]).toEqual([
    200, 200, 403,
  ]);
  expect((await propose(program, { origin: "https://gov.example" })).status).toBe(201);
  expect((await propose(program, { origin: "https://evil.example" })).status).toBe(403);
});

test("a KPI feed wakes a cycle", async () => {
  const program = await begin();
  expect(await tick(program)).toBe(0);
  expect((await post(`${program.url}/api/product/kpi`, { csat: "4.2" })).status).toBe(200);
  while ((await tick(program)) === 0);
  expect(await tick(program)).toBe(1);
});

test("cycles run on the timer", async () => {
  const program = await begin(["--cycle-interval=0.02"]);
  while ((await tick(program)) < 2);
});

test("warnings stand in the log", async () => {
  await begin([], { SVC_PROTECT_ALL: "1" });
  expect(logged).toContain("SVC_PROTECT_ALL has no effect while SVC_ADMIN_TOKEN is unset");
});
