/** The published Worker, as it is built and configured, in workerd. */
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CONSOLE_HEADERS } from "../../../lib/http/console_headers.ts";
import { client, events, FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import { manifest } from "../../support/intents.ts";
import { startWebhookHost } from "../../support/webhook_host.ts";
import { provider } from "../chat/model_server.ts";
import { sendAlone, startWorkerd, workerScript } from "../../support/worker/edge_service.ts";
import { readEvents } from "../../support/worker/event_reader.ts";

const ROOT = join(import.meta.dirname, "../../..");
const TOKEN = "sesame-open-the-gate";
const SECRET = "a secret of sixteen or more";
const AUTHORISED = { "x-svc-admin-token": TOKEN };
const INTENT = { SVC_PRODUCT_INTENT_JSON: JSON.stringify(manifest()) };

let folder: string;
let script: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-edge-"));
  await mkdir(join(folder, "ui"));
  for (const file of ["index.html", "icon.svg"]) await cp(join(ROOT, "local/ui", file), join(folder, "ui", file));
  script = await workerScript();
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts the Worker with these variables until the end of the test; reads need no token unless `env` sets SVC_PROTECT_READS. */
async function startWorker(
  env: Record<string, string>,
  options: object = {},
  workerCode = script,
): Promise<{ workerd: Miniflare; url: string }> {
  const running = await startWorkerd(workerCode, {
    bindings: { SVC_PROTECT_READS: "0", ...env },
    assets: {
      directory: join(folder, "ui"),
      binding: "ASSETS",
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
    },
    ...options,
  });
  onTestFinished(() => running.workerd.dispose());
  return running;
}

/** Calls the handler of the cron trigger. */
async function runScheduled(workerd: Miniflare, cron = "* * * * *"): Promise<unknown> {
  const worker = (await workerd.getWorker()) as unknown as { scheduled(event: object): Promise<unknown> };
  return worker.scheduled({ cron });
}

const clientFor = (url: string) => client(sendAlone, url);

describe("the bundle", () => {
  test("imports only modules of the runtime", () => {
    const imported = [...script.matchAll(/\b(?:from|import)\s*\(?\s*"([\w@:./-]{2,})"/g)].map(([, name]) => name);
    expect(imported).toEqual(["cloudflare:workers"]);
    // Optional modules of Node, which are used only if the runtime has them.
    expect(String(script).replace(/getBuiltinModule\?\.\("node:(?:crypto|async_hooks)"\)/g, "")).not.toMatch(
      /["']node:/,
    );
  });

  test("is what docs/wrangler.jsonc deploys", async () => {
    const text = await readFile(join(ROOT, "docs/wrangler.jsonc"), "utf8");
    const config = JSON.parse(text.replace(/^\s*\/\/.*$/gm, "").replace(/,(\s*[}\]])/g, "$1"));
    const [binding] = config.durable_objects.bindings;
    expect(binding).toEqual({ name: "COUNTERSIGN", class_name: "Countersign" });
    expect(script).toMatch(/export\s*\{[^}]*\bas Countersign\b[^}]*\bas default\b/);
    expect(config.migrations).toEqual([{ tag: "v1", new_sqlite_classes: [binding.class_name] }]);
    expect(config.assets).toMatchObject({ binding: "ASSETS", run_worker_first: true });
    expect(config.triggers.crons).toHaveLength(1);
    expect(config.compatibility_flags).toBeUndefined();
    const { url } = await startWorker(
      { ...config.vars, SVC_ADMIN_TOKEN: TOKEN },
      { compatibilityDate: config.compatibility_date },
    );
    expect((await clientFor(url).get("intent")).body).toMatchObject({ product_id: "acme-crm", adapter: null });
  });
});

test("a change goes from proposal to rollback over a real webhook, in one chain", async () => {
  const host = await startWebhookHost(SECRET);
  onTestFinished(() => host.stop());
  const { url } = await startWorker(
    { ...INTENT, SVC_ADMIN_TOKEN: TOKEN, SVC_PRODUCT_ADAPTER: host.url, SVC_ADAPTER_SECRET: SECRET },
    { compatibilityFlags: ["nodejs_compat"] },
  );
  const api = clientFor(url);
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const { body: proposed } = await api.post("propose-crm-followup", FOLLOWUP, AUTHORISED);
  const { change_id } = proposed;
  expect((await api.act("apply", change_id, AUTHORISED)).body.code).toBe("illegal_transition");
  for (const action of ["approve", "apply", "rollback"] as const)
    expect(
      (await api.act(action, change_id, { ...AUTHORISED, traceparent: `00-${traceId}-00f067aa0ba902b7-01` })).status,
      action,
    ).toBe(200);
  // With the flag `nodejs_compat` a Worker forwards the trace.
  for (const { headers } of host.received) expect(headers["traceparent"]).toContain(`00-${traceId}-`);
  expect(host.effects).toEqual([`apply ${change_id}`, `rollback ${change_id}`]);
  const expected = ["intent_in_force", "change_proposed", "consent_decision", "change_applied", "change_rolled_back"];
  expect(events(await api.audit())).toEqual(expected);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: 5 });
});

test("writes need the token, and are rejected where none is configured", async () => {
  const { url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN });
  for (const headers of [{}, { "x-svc-admin-token": "wrong" }]) {
    const rejected = await clientFor(url).post("propose-crm-followup", FOLLOWUP, headers);
    expect(rejected).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(rejected.headers.get("www-authenticate")).toMatch(/SvcAdminToken/);
  }
  const { url: urlWithoutToken } = await startWorker(INTENT);
  for (const path of ["propose-crm-followup", "/api/chat", "/api/action/run-now"])
    expect(await clientFor(urlWithoutToken).post(path, {}, AUTHORISED)).toMatchObject({
      status: 401,
      body: { code: "unauthorized" },
    });
  expect((await clientFor(urlWithoutToken).audit()).length).toBe(0);
});

test("reads need a token by default", async () => {
  const { url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN, SVC_PROTECT_READS: "" });
  const api = clientFor(url);
  expect(await api.get("intent")).toMatchObject({ status: 401, body: { code: "unauthorized" } });
  expect((await api.get("intent", AUTHORISED)).status).toBe(200);
  for (const path of ["/", "/readyz", "/api/whoami"]) expect((await api.get(path)).status, path).toBe(200);
});

test("the console is served with its headers; other paths go to the API", async () => {
  const { url } = await startWorker(INTENT);
  const api = clientFor(url);
  const page = await api.get("/");
  expect(page.text).toBe(await readFile(join(ROOT, "local/ui/index.html"), "utf8"));
  expect(page.headers.get("content-type")).toMatch(/^text\/html/);
  const icon = await api.get("/icon.svg");
  expect(icon.headers.get("content-type")).toBe("image/svg+xml");
  const notModified = await api.get("/icon.svg", { "if-none-match": icon.headers.get("etag")! });
  expect(notModified.status).toBe(304);
  for (const { headers } of [page, icon, notModified])
    expect(Object.fromEntries(headers)).toMatchObject(CONSOLE_HEADERS);
  expect(await api.get("/nothing.js")).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await api.get("/api/nothing")).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await api.raw("/", "a=1")).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect((await api.get("/livez")).status).toBe(200);
  expect((await api.get("/readyz")).body).toMatchObject({ ready: true });
});

test("the cron trigger runs a cycle and stores a checkpoint; a feed runs a cycle without it", async () => {
  const { workerd, url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN });
  const api = clientFor(url);
  await api.post("propose-crm-followup", FOLLOWUP, AUTHORISED);
  expect((await api.get("/api/state")).body.tick).toBe(0);
  expect(await runScheduled(workerd)).toMatchObject({ outcome: "ok" });
  expect((await api.get("/api/state")).body.tick).toBe(1);
  const now = new Date().toISOString();
  expect((await api.get("audit/checkpoint")).body.at <= now, "the checkpoint was stored before the request").toBe(true);

  const stream = await readEvents(`${url}/api/events`);
  onTestFinished(() => stream.stop());
  await api.post("kpi", { csat: 4 }, AUTHORISED);
  expect((await stream.next("audit")).data).toMatchObject({ event_type: "kpi_refreshed" });
  expect((await stream.next("tick")).data).toMatchObject({ tick: 2 });
});

test("checkpoints are signed with the key of the secret", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const { url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN, SVC_AUDIT_KEY_PEM: pem });
  await clientFor(url).post("propose-crm-followup", FOLLOWUP, AUTHORISED);
  const { body } = await clientFor(url).get("audit/checkpoint");
  expect(body).toMatchObject({ signed: true, length: 2 });
  // A signature line is "— name base64"; the bytes begin with a key id of four bytes.
  const [text, line] = (body.checkpoint as string).split("\n\n");
  const signature = Buffer.from(line!.trim().split(" ")[2]!, "base64").subarray(4);
  expect(
    verify(
      null,
      Buffer.from(`${text}\n`),
      createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      signature,
    ),
  ).toBe(true);
});

/** Starts a receiver of notifications that answers the first `failures` requests with 500. */
async function startReceiver(failures = 0): Promise<{ url: string; received: { type: string; text: string }[] }> {
  const received: { type: string; text: string }[] = [];
  let failuresLeft = failures;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    if (failuresLeft-- > 0) return void response.writeHead(500).end();
    received.push(JSON.parse(String(body)));
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
}

test("people are notified immediately; failed notifications are sent by the next cycle", async () => {
  const { url: hook, received } = await startReceiver(1);
  const notify = { SVC_NOTIFY_URL: hook, SVC_NOTIFY_SECRET: SECRET, SVC_PUBLIC_URL: "https://gov.acme.example" };
  const { workerd, url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN, ...notify });
  const api = clientFor(url);
  const readCapability = async () =>
    (await api.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "notifications");
  expect(await readCapability()).toMatchObject({ status: "available" });
  const { change_id } = (await api.post("propose-crm-followup", FOLLOWUP, AUTHORISED)).body;
  await expect.poll(readCapability).toMatchObject({ status: "failing", reason: "the receiver answered 500" });
  expect(received).toEqual([]);
  await runScheduled(workerd);
  expect(received).toMatchObject([
    { type: "change.waiting_for_consent", url: `https://gov.acme.example/#/changes/${change_id}` },
  ]);
  await api.act("approve", change_id, AUTHORISED);
  await expect.poll(() => received.map(({ type }) => type)).toEqual(["change.waiting_for_consent", "change.decided"]);
  expect(await readCapability()).toMatchObject({ status: "available" });
});

test("a configured model answers in chat and is called with its key", async () => {
  const { url: model, received } = await provider(() => ({ text: "all is well" }));
  const { url } = await startWorker({
    ...INTENT,
    SVC_ADMIN_TOKEN: TOKEN,
    SVC_LLM: model,
    SVC_LLM_MODEL: "m1",
    SVC_LLM_KEY: "key of the model",
  });
  const reply = await clientFor(url).post("/api/chat", { message: "how is it?" }, AUTHORISED);
  expect(reply.body.reply).toMatchObject({ mode: "llm", text: "all is well" });
  expect(received[0]!.headers.authorization).toBe("Bearer key of the model");
  const { capabilities } = (await clientFor(url).get("/api/capabilities")).body;
  expect(capabilities).toContainEqual(expect.objectContaining({ id: "llm", status: "available" }));
});

test("retrospectives are stored in the object and served", async () => {
  const { workerd, url } = await startWorker({ ...INTENT, SVC_ADMIN_TOKEN: TOKEN });
  const api = clientFor(url);
  await runScheduled(workerd);
  const { change_id } = (await api.post("propose-crm-followup", FOLLOWUP, AUTHORISED)).body;
  await api.act("deny", change_id, AUTHORISED);
  await runScheduled(workerd);
  const { files } = (await api.get("/api/evolved")).body;
  const name = `retrospective-${change_id}.md`;
  expect(files).toContainEqual(expect.objectContaining({ name, kind: "retrospective" }));
  // A week before the log began has no report.
  expect(new Set(files.map(({ kind }: { kind: string }) => kind))).toEqual(new Set(["retrospective"]));
  expect((await api.get(`/api/evolved/${name}`)).text).toContain(change_id);
});

test("a feature that is missing or not configured is a disabled capability with its reason", async () => {
  const { url } = await startWorker(INTENT, { assets: undefined });
  const { capabilities } = (await clientFor(url).get("/api/capabilities")).body;
  const rows = new Map<string, { status: string; reason: string | null }>(
    capabilities.map((row: { id: string }) => [row.id, row]),
  );
  const disabled = ["ui", "process_metrics", "notifications", "cross_link", "llm", "audit_anchor"];
  for (const id of [...disabled, "admin_token", "audit_key", "product_adapter"])
    expect(rows.get(id), id).toMatchObject({ status: "disabled", reason: expect.stringMatching(/\w/) });
  for (const id of ["product_runtime", "audit_chain", "cycle_timer", "evolved_files"])
    expect(rows.get(id), id).toMatchObject({ status: "available" });
  expect(rows.size).toBe(capabilities.length);
});

test("a custom entry module may contain the intent and an adapter", async () => {
  const entry = `
    import { endpoints } from "./handlers/index.ts";
    import { edgeHost } from "./lib/hosts/edge/worker.ts";
    const applied = async () => ({ result: "applied" });
    const adapter = { name: "own", validate: async () => ({ ok: true }), apply: applied, verify: async () => "applied", rollback: applied };
    const settings = { SVC_PRODUCT_INTENT_JSON: ${JSON.stringify(JSON.stringify(manifest({ product_id: "own" })))}, SVC_NODE_ID: "built-in" };
    const host = edgeHost({ endpoints, settings, adapter });
    export const { Countersign } = host;
    export default host.worker;`;
  const { url } = await startWorker({ SVC_ADMIN_TOKEN: TOKEN, SVC_NODE_ID: "stated" }, {}, await workerScript(entry));
  const api = clientFor(url);
  // A variable of the Worker takes precedence over a setting of the module.
  expect((await api.get("identity")).body).toMatchObject({ product_id: "own", node_id: "stated" });
  expect((await api.get("intent")).body.adapter).toMatchObject({ name: "own" });
  const { change_id } = (await api.post("propose-crm-followup", FOLLOWUP, AUTHORISED)).body;
  await api.act("approve", change_id, AUTHORISED);
  expect((await api.act("apply", change_id, AUTHORISED)).body.adapter).toMatchObject({
    name: "own",
    result: "applied",
  });
});

test("a change applies when approved, or once two cycles ten minutes apart confirm its time", async () => {
  const intent = manifest({ policy: { apply_when: ["manual", "approved", "scheduled"] } });
  // The cron text of a trigger is the number of minutes by which the Worker's clock is ahead.
  const entry = `
    import { endpoints } from "./handlers/index.ts";
    import { edgeHost } from "./lib/hosts/edge/worker.ts";
    const host = edgeHost({ endpoints, settings: { SVC_PRODUCT_INTENT_JSON: ${JSON.stringify(JSON.stringify(intent))} } });
    const now = Date.now;
    const scheduled = (event, env) => {
      Date.now = () => now() + Number(event.cron) * 60000;
      return host.worker.scheduled(event, env);
    };
    export const { Countersign } = host;
    export default { ...host.worker, scheduled };`;
  const { workerd, url } = await startWorker({ SVC_ADMIN_TOKEN: TOKEN }, {}, await workerScript(entry));
  const api = clientFor(url);
  const approve = async (target: string, apply_when: string): Promise<string> => {
    const { change_id } = (await api.post("propose", { ...PROPOSAL, target, apply_when }, AUTHORISED)).body;
    expect((await api.act("approve", change_id, AUTHORISED)).body.status).toBe("approved");
    return change_id;
  };
  const readStatus = async (id: string) => (await api.change(id)).status;
  const immediate = await approve("ui.once", "approved");
  const later = await approve("ui.later", new Date(Date.now() + 3600_000).toISOString());
  // The consent starts a cycle without the trigger.
  await expect.poll(() => readStatus(immediate), { timeout: 10_000 }).toBe("applied");
  // Two clock samples at least ten minutes apart confirm that a time has passed: those at 61 and 72. At 0 it has not.
  await runScheduled(workerd, "0");
  await runScheduled(workerd, "61");
  expect(await readStatus(later)).toBe("approved");
  await runScheduled(workerd, "72");
  expect(await readStatus(later)).toBe("applied");
  expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject({
    actor: "policy:apply_when",
    status: "applied",
  });
});

describe("invalid settings are reported on every request", () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ["an intent that is no JSON", { SVC_PRODUCT_INTENT_JSON: "{" }, /product intent/],
    [
      "an intent without approved_by",
      { SVC_PRODUCT_INTENT_JSON: JSON.stringify(manifest({ approved_by: "" })) },
      /approved_by/,
    ],
    ["a flag that is neither 1 nor 0", { ...INTENT, SVC_PROTECT_ALL: "yes" }, /SVC_PROTECT_ALL must be 1 or 0/],
    ["an adapter without its secret", { ...INTENT, SVC_PRODUCT_ADAPTER: "https://a.example" }, /SVC_ADAPTER_SECRET/],
    [
      "notifications without a signing secret",
      { ...INTENT, SVC_NOTIFY_URL: "https://hooks.example/x" },
      /SVC_NOTIFY_URL needs SVC_NOTIFY_SECRET/,
    ],
    [
      "an adapter's address that is no URL",
      { ...INTENT, SVC_PRODUCT_ADAPTER: "crm", SVC_ADAPTER_SECRET: SECRET },
      /SVC_PRODUCT_ADAPTER/,
    ],
    [
      "an audit key that is no key",
      { ...INTENT, SVC_AUDIT_KEY_PEM: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----" },
      /SVC_AUDIT_KEY_PEM holds no/,
    ],
  ];
  test.each(cases)("%s", async (_, env, rule) => {
    const { url } = await startWorker({ SVC_ADMIN_TOKEN: TOKEN, ...env });
    for (const path of ["/api/product/intent", "/livez"]) {
      const { status, body, headers, text } = await clientFor(url).get(path, { "x-request-id": "mine" });
      expect(status).toBe(503);
      expect(body).toEqual({ error: expect.stringMatching(rule), code: "cannot_start", status, request_id: "mine" });
      expect(headers.get("cache-control")).toBe("no-store");
      expect(text).not.toContain(SECRET);
    }
    expect((await clientFor(url).get("/")).status).toBe(200);
  });
});
