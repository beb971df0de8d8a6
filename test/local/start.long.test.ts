/** Tests the start and the stop of the program in this process, with its options, files and cycles. */
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { entryKey } from "../../lib/audit/chain.ts";
import { storeCurrentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { PROJECTIONS } from "../../lib/projections/projector.ts";
import type { Log } from "../../lib/kit/platform.ts";
import { acquireLock } from "../../local/lock.ts";
import { sha256 } from "../../local/node_ports.ts";
import { parseOptions, type Environment } from "../../local/options.ts";
import { start, type RunningProgram } from "../../local/start.ts";
import { openFileStore } from "../../local/store/file_store.ts";
import { freePort } from "../support/free_port.ts";
import { writeRecords } from "../support/write_records.ts";
import { makeLog } from "../lib/audit/synthetic_log.ts";

let folder: string;
let running: RunningProgram[];
let logged: string[];
/** Systems and reasons of the warnings about target systems. */
let problems: [system: unknown, error: unknown][];
let onMessage: (message: string) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "start-"));
  running = [];
  logged = [];
  problems = [];
  onMessage = () => {};
  const intent = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };
  await writeFile(join(folder, "intent.json"), JSON.stringify(intent));
});
afterEach(async () => {
  for (const { stop } of running) await stop();
  await rm(folder, { recursive: true });
});

async function startProgram(argv: string[] = [], env: Environment = {}): Promise<RunningProgram> {
  const logMessage: Log["warn"] = (message, facts) => {
    logged.push(message);
    if (message === "a target system cannot be used") problems.push([facts?.["system"], facts?.["error"]]);
    onMessage(message);
  };
  const log: Log = { info: logMessage, warn: logMessage, error: logMessage };
  const files = [`--state=${join(folder, "state.json")}`, `--product-intent=${join(folder, "intent.json")}`];
  const parsed = parseOptions(["--port=0", "--cycle-interval=0", ...files, ...argv], env);
  if (parsed.kind !== "run") throw new Error("expected options");
  const started = await start(parsed.options, log);
  running.push(started);
  return started;
}

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), headers });
const propose = (
  { url }: RunningProgram,
  headers: Record<string, string> = {},
  moreFields: Record<string, string> = {},
) =>
  post(
    `${url}/api/product/propose-crm-followup`,
    { tenant_id: "t1", affected_users: "40", expected_delta_k: "12", ...moreFields },
    headers,
  );

const readJson = async (response: Response) => (await response.json()) as Record<string, unknown>;

async function readTick({ url }: RunningProgram): Promise<number> {
  return ((await (await fetch(`${url}/api/state`)).json()) as { tick: number }).tick;
}

test("stopping updates the snapshot and releases the state file", async () => {
  const program = await startProgram();
  expect((await propose(program)).status).toBe(201);
  await program.stop();
  const snapshot = JSON.parse(await readFile(join(folder, "state.json"), "utf8"));
  // One entry of the intent coming into force, and one of the proposal.
  expect(snapshot).toMatchObject({ product_runtime: { product_id: "acme-crm", meta: { chain: { length: 2 } } } });
  await (await acquireLock(join(folder, "state.json"))).release();
  await program.stop();
});

test("a failed start releases the state file", async () => {
  const otherServer = http.createServer();
  await once(otherServer.listen(0, "127.0.0.1"), "listening");
  const { port } = otherServer.address() as { port: number };
  await expect(startProgram([`--port=${port}`])).rejects.toThrow(`--port ${port}: something listens there already`);
  otherServer.close();
  expect((await propose(await startProgram())).status).toBe(201);
});

test("a state that is a folder, and one whose folder cannot be created, are named", async () => {
  const startWith = (state: string) => startProgram([`--state=${state}`]);
  await expect(startWith(folder)).rejects.toThrow(`--state ${folder} is a folder: name a file in it`);
  const blocked = join(folder, "intent.json", "data", "state.json");
  await expect(startWith(blocked)).rejects.toThrow(`--state ${blocked}: the folder cannot be created: ENOTDIR`);
});

test("a config file that cannot be written is a warning and a failing capability", async () => {
  const blocked = join(folder, "config");
  await writeFile(blocked, "a file where a folder must be");
  const config = join(blocked, "product.json");
  const program = await startProgram([`--product-config=${config}`]);
  const reason =
    'product config file "product.json" cannot be used: a part of its path is a file, not a folder (ENOTDIR)';
  expect(problems).toEqual([["file", expect.stringContaining(reason)]]);
  const readAdapterStatus = async () => {
    const { capabilities } = await readJson(await fetch(`${program.url}/api/capabilities`));
    const ids = ["product_adapter", "file_adapter"];
    return (capabilities as { id: string; status: string; reason: string | null }[])
      .filter(({ id }) => ids.includes(id))
      .map(({ status, reason: reasonText }) => [status, reasonText]);
  };
  const failing = ["failing", expect.stringContaining(reason)];
  expect(await readAdapterStatus()).toEqual([failing, failing]);
  expect((await fetch(`${program.url}/readyz`)).status).toBe(200);
  await rm(blocked);
  expect(await readAdapterStatus()).toEqual([
    ["available", null],
    ["available", null],
  ]);
});

test("each target system that cannot be used at the start is reported once", async () => {
  const blocked = join(folder, "config");
  await writeFile(blocked, "a file where a folder must be");
  const toSystem = (name: string, port: number) => ({
    name,
    type: "webhook",
    match: [`${name}.*`],
    url: `http://127.0.0.1:${port}/`,
    secret_env: "HOOK_SECRET",
  });
  const file = { name: "product", type: "file", match: ["*"], path: join(blocked, "product.json") };
  const targets = join(folder, "targets.json");
  const ports = [await freePort(), await freePort()];
  await writeFile(
    targets,
    JSON.stringify({ systems: [toSystem("crm", ports[0]!), toSystem("shop", ports[1]!), file] }),
  );
  await startProgram([`--targets=${targets}`], { HOOK_SECRET: "a-secret-of-the-tests" });
  await expect.poll(() => problems.map(([system]) => system).sort()).toEqual(["crm", "product", "shop"]);
  expect(logged.filter((message) => message.startsWith("--targets"))).toEqual([]);
});

test("an --evolved-dir that has the files of another service stops the start", async () => {
  const shared = `--evolved-dir=${join(folder, "reports")}`;
  await (await startProgram([shared])).stop();
  await (await startProgram([shared])).stop();
  // The default folder of evolved files is evolved-other for this state, and evolved for state.json.
  const other = `--state=${join(folder, "other.json")}`;
  await expect(startProgram([other, shared])).rejects.toThrow(
    /^--evolved-dir \S+reports: has the files of another service, with the log acme-crm\/audit\/[0-9a-f]+; give each/,
  );
  const own = `--evolved-dir=${join(folder, "evolved-other")}`;
  await (await startProgram([other])).stop();
  await (await startProgram([other, own])).stop();
  await expect(startProgram([own])).rejects.toThrow("has the files of another service");
});

test("a default folder that is the --evolved-dir of another service stops the start", async () => {
  await startProgram([`--evolved-dir=${join(folder, "evolved-other")}`]);
  await expect(startProgram([`--state=${join(folder, "other.json")}`])).rejects.toThrow(
    /^--evolved-dir \S+evolved-other: has the files of another service, with the log acme-crm\/audit\//,
  );
});

test("the default folder of evolved files is taken over by a new log of the same state", async () => {
  await (await startProgram()).stop();
  for (const name of await readdir(folder))
    if (name.startsWith("state.json")) await rm(join(folder, name), { recursive: true });
  await startProgram();
  expect(await readFile(join(folder, "evolved", ".log-origin"), "utf8")).toMatch(/^acme-crm\/audit\//);
});

test("the admin token guards writes", async () => {
  const program = await startProgram([], { SVC_ADMIN_TOKEN: "t0ken" });
  expect((await propose(program)).status).toBe(401);
  expect((await propose(program, { "x-svc-admin-token": "t0ken" })).status).toBe(201);
});

test("the identity header names the person", async () => {
  const program = await startProgram(["--identity-header=X-Person"]);
  expect((await propose(program, { "x-person": "ana" }, { proposer: "bo" })).status).toBe(403);
  expect((await propose(program, { "x-person": "ana" }, { proposer: "ana" })).status).toBe(201);
  // The first start suggests commands only while no change exists and names are not authenticated.
  expect(logged).not.toContain("try next");
});

test("allowed hosts are accepted as Host, and their pages may write", async () => {
  const program = await startProgram(["--allowed-hosts=gov.example"]);
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
  const program = await startProgram();
  expect(await readTick(program)).toBe(0);
  expect((await post(`${program.url}/api/product/kpi`, { csat: "4.2" })).status).toBe(200);
  while ((await readTick(program)) === 0);
  expect(await readTick(program)).toBe(1);
});

test("cycles run on the timer", async () => {
  const program = await startProgram(["--cycle-interval=0.02"]);
  while ((await readTick(program)) < 2);
});

test("warnings are logged", async () => {
  await startProgram([], { SVC_PROTECT_ALL: "1" });
  expect(logged).toContain("SVC_PROTECT_ALL has no effect while SVC_ADMIN_TOKEN is unset");
});

test("with protected reads peers can still query over the link, which has its own secret", async () => {
  const env = { SVC_PROTECT_READS: "1", SVC_READ_TOKEN: "a token to read with", SVC_CROSS_LINK_SECRET: "s".repeat(32) };
  const linked = new Promise<void>((resolve) => {
    onMessage = (message) => void (message === "link up" && resolve());
  });
  const port = await freePort();
  const listening = await startProgram([`--cross-link-port=${port}`], env);
  const other = [`--state=${join(folder, "other.json")}`, "--svc-node-id=other", "--agent-id=other"];
  const querying = await startProgram([...other, `--cross-link-peers=127.0.0.1:${port}`], env);
  await linked;
  expect((await fetch(`${listening.url}/api/state`)).status).toBe(401);
  const queryResponse = await post(`${querying.url}/api/peer/query?path=/api/state&method=GET`, {});
  expect(await readJson(queryResponse)).toMatchObject({ results: [{ status: 200, body: { tick: 0 } }] });
});

test("a wrong token is counted in the metrics", async () => {
  const program = await startProgram([], { SVC_ADMIN_TOKEN: "a token for these tests" });
  const readCount = async () =>
    /^countersign_http_wrong_tokens_total (\d+)$/m.exec(await (await fetch(`${program.url}/api/metrics`)).text())?.[1];
  expect(await readCount()).toBe("0");
  expect((await propose(program, { "x-svc-admin-token": "another" })).status).toBe(401);
  expect((await propose(program)).status).toBe(401);
  expect(await readCount()).toBe("1");
  expect(logged).toContain("a token was sent that is nobody's");
});

test("a store restored from an older copy is verified against its anchor before it serves", async () => {
  const outside = await mkdtemp(join(tmpdir(), "start-"));
  onTestFinished(() => rm(outside, { recursive: true }));
  const [older, anchor] = [join(outside, "older"), join(outside, "anchor.jsonl")];
  const first = await startProgram();
  expect((await propose(first)).status).toBe(201);
  await first.stop();
  await cp(folder, older, { recursive: true });

  const second = await startProgram();
  expect((await propose(second)).status).toBe(201);
  const { checkpoint } = await readJson(await fetch(`${second.url}/api/product/audit/checkpoint`));
  await writeFile(anchor, `${JSON.stringify({ at: new Date().toISOString(), checkpoint })}\n`);
  await second.stop();

  await rm(folder, { recursive: true });
  await cp(older, folder, { recursive: true });
  const rejected = await propose(await startProgram([`--audit-anchor=${anchor}`]));
  expect([rejected.status, await readJson(rejected)]).toEqual([
    503,
    expect.objectContaining({ code: "chain_broken", reason: expect.stringContaining("against the anchor") }),
  ]);
});

/** More entries than a start verifies before it serves. */
const LONG = 10_100;

/** Writes a log of `LONG` entries with its Merkle tree into the program's store, with one entry edited. */
async function writeEditedLog(editedId: number): Promise<void> {
  const source = await makeLog(LONG, { sha256 });
  await storeCurrentCheckpoint(source);
  const store = await openFileStore({ path: join(folder, "state.json"), log: source.log });
  for (const collection of ["meta", "merkle"] as const)
    await writeRecords(store, await source.store.list(collection, { limit: LONG }), (tx, { id, value }) =>
      tx.put(collection, id, value),
    );
  await writeRecords(store, await source.store.list("audit", { limit: LONG }), (tx, { id, value }) =>
    tx.put("audit", id, id === entryKey(editedId) ? { ...value, detail: "{ }" } : value),
  );
  await store.close();
}

test("the complete log is verified after the start: an edit of an old entry stops writes", async () => {
  await writeEditedLog(5);
  const broken = new Promise<void>((resolve) => {
    onMessage = (message) => void (message === "audit chain broken" && resolve());
  });
  const program = await startProgram();
  await broken;
  const rejected = await propose(program);
  expect([rejected.status, await readJson(rejected)]).toEqual([
    503,
    expect.objectContaining({ code: "chain_broken", first_invalid: 5 }),
  ]);
});

test("committed entries are projected without a cycle", async () => {
  const service = await startProgram();
  for (let count = 0; count < 3; count++) expect((await propose(service)).status).toBe(201);
  // A read would project the entries itself, so the file is read.
  const readCursors = async () => {
    const journal = await readFile(join(folder, "state.json.journal.jsonl"), "utf8");
    return PROJECTIONS.map(({ name }) => {
      const cursors = [...journal.matchAll(new RegExp(`\\["cursors","${name}",\\d+,(\\{.*?\\})\\]\t`, "g"))];
      return cursors.length === 0 ? 0 : (JSON.parse(cursors.at(-1)![1]!) as { entry: number }).entry;
    });
  };
  // The entry of the intent and those of three proposals.
  await expect.poll(readCursors, { timeout: 20_000 }).toEqual(PROJECTIONS.map(() => 4));
});
