/** The built Lambda functions; each instance is a process, and all use one DynamoDB table. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
// @ts-expect-error a build script without types
import { buildLambda } from "../../../esbuild.config.mjs";
import { intent } from "../../../handlers/product/intent.ts";
import { propose } from "../../../handlers/product/propose.ts";
import { lambdaFunction } from "../../../lib/hosts/lambda/function.ts";
import { entryKey } from "../../../lib/audit/chain.ts";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { functionGroup } from "../../../lib/hosts/lambda/groups.ts";
import { CONSOLE_HEADERS } from "../../../lib/http/console_headers.ts";
import { temporaryFolder } from "../../e2e/server.ts";
import { checkedFetch, findEndpoint } from "../../support/checked_fetch.ts";
import { client, PROPOSAL } from "../../support/client.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { manifest } from "../../support/intents.ts";
import { expectOneChain, writeConcurrently } from "../../support/many_writers.ts";
import { GET_PATHS } from "../../support/get_paths.ts";
import { neverRespond, startWebhookHost, type WebhookHost } from "../../support/webhook_host.ts";
import { provider } from "../chat/model_server.ts";
import {
  allowOnly,
  type AwsEndpoint,
  endAllInstances,
  startDynamoDbProxy,
  type Instance,
  startEndpoint,
  startSecretsManager,
  startInstance,
} from "./lambda_aws.ts";
import { context, makeEvent, toFetchResponse } from "./lambda_events.ts";

const ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:countersign-AbCdEf";
const TOKEN = "correct horse battery staple";
const ADAPTER_SECRET = "a secret of the test";
const WITH_TOKEN = { "x-svc-admin-token": TOKEN };

// The tests start many processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const server = await startDynamoDb();
const testWithDynamoDb = server ? test : test.skip;
const folder = temporaryFolder();
let host: WebhookHost;
let secrets: AwsEndpoint;
let secret = { SVC_ADMIN_TOKEN: TOKEN, SVC_ADAPTER_SECRET: ADAPTER_SECRET };
const endpoints: AwsEndpoint[] = [];

beforeAll(async () => {
  await (buildLambda as (outdir: string, isWanted: (name: string) => boolean) => Promise<unknown>)(folder, (name) =>
    name.startsWith("functions/"),
  );
  host = await startWebhookHost(ADAPTER_SECRET);
  secrets = await startSecretsManager(ARN, () => JSON.stringify(secret));
});
afterAll(async () => {
  await endAllInstances();
  await Promise.all([host.stop(), secrets.stop(), ...endpoints.map((aws) => aws.stop())]);
  await server?.stop();
});

type Name = "docs" | "health" | "read" | "product" | "agent" | "cycle";

/** The environment of a function, as the template configures it. */
function configuration(table: string, name: Name): Record<string, string> {
  const secretSettings = { SVC_SECRETS_ARN: ARN, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url };
  return {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_SESSION_TOKEN: "session",
    AWS_ENDPOINT_URL_DYNAMODB: server!.url,
    SVC_DYNAMODB_TABLE: table,
    SVC_PRODUCT_INTENT_JSON: JSON.stringify(manifest({ policy: { consent_ttl_hours: 72 } })),
    SVC_PRODUCT_ADAPTER: host.url,
    SVC_CYCLE_INTERVAL: "60",
    SVC_PROTECT_READS: "0",
    ...(["read", "product", "agent", "cycle"].includes(name) && secretSettings),
  };
}

/** Starts instances of the functions on a table. */
const deployOn =
  (table: string) =>
  async (name: Name, settings: Record<string, string> = {}) => {
    const env = { ...configuration(table, name), ...settings };
    const instance = await startInstance(join(folder, "functions", name, "index.mjs"), env);
    return { ...instance, api: client(checkedFetch(instance.fetch, [TOKEN, ADAPTER_SECRET])) };
  };

const makeTable = async (name: string): Promise<string> => {
  await createTable(server!.access(name));
  return name;
};

/** Runs a cycle by sending the event of the schedule. */
const runScheduled = ({ invoke }: Instance) =>
  invoke({ source: "aws.events" }) as Promise<{ resolved: number; failed_steps: string[] }>;

describe("over several instances of the functions", () => {
  testWithDynamoDb(
    "a change goes from proposal to rollback, and each instance reads the writes of the others",
    async () => {
      const start = deployOn(await makeTable("whole_life"));
      const [first, second, read] = await Promise.all([start("product"), start("product"), start("read")]);
      expect((await first.api.post("propose", PROPOSAL)).status).toBe(401);
      const proposed = await first.api.post("propose", PROPOSAL, WITH_TOKEN);
      expect(proposed.status).toBe(201);
      const { change_id } = proposed.body;
      expect((await first.api.act("apply", change_id, WITH_TOKEN)).body.code).toBe("illegal_transition");
      expect((await second.api.act("approve", change_id, WITH_TOKEN)).body.status).toBe("approved");
      const applied = await first.api.act("apply", change_id, WITH_TOKEN);
      expect(applied.body).toMatchObject({ status: "applied", adapter: { name: "webhook", result: "applied" } });
      expect(host.effects).toContain(`apply ${change_id}`);
      expect((await read.api.change(change_id)).status).toBe("applied");
      expect((await second.api.act("rollback", change_id, WITH_TOKEN)).body.status).toBe("rolled_back");

      const entries = await read.api.audit();
      expect(chainFault(entries)).toBeNull();
      expect(entries[1]).toEqual(proposed.body.audit_entry);
      expect(entries.map(({ event_type }) => event_type)).toEqual([
        "intent_in_force",
        "change_proposed",
        "consent_decision",
        "change_applied",
        "change_rolled_back",
      ]);
      const verified = await read.api.get("audit/verify?expected_length=2&expected_head=" + entries[1].current_hash);
      expect(verified.body).toMatchObject({ valid: true, length: 5 });
      const checkpoint = await first.api.get("audit/checkpoint");
      expect(checkpoint.body).toMatchObject({ length: 5, signed: false });
      expect((await first.api.get("audit/proof?id=2")).body).toMatchObject({ length: 5 });
    },
  );

  testWithDynamoDb(
    "concurrent writes in several instances form one chain, and replays work across instances",
    async () => {
      const start = deployOn(await makeTable("at_once"));
      const read = await start("read");
      /** Sends reads to the function `read` and writes, with the token, to an instance of `product`. */
      const gateway = ({ fetch }: Instance) =>
        client((request) => {
          request.headers.set("x-svc-admin-token", TOKEN);
          return request.method === "GET" ? read.fetch(request) : fetch(request);
        });
      const writers = (await Promise.all([start("product"), start("product")])).map(gateway);
      await expectOneChain(writers, await writeConcurrently(writers, 2));
      const key = { "idempotency-key": "k1" };
      const [first, second] = [
        await writers[0]!.post("kpi", { csat: 4 }, key),
        await writers[1]!.post("kpi", { csat: 4 }, key),
      ];
      expect(second.body).toEqual(first.body);
      expect(second.headers.get("idempotency-replayed")).toBe("true");
    },
  );

  testWithDynamoDb("chat, tasks and the cycle run on the same table", async () => {
    const start = deployOn(await makeTable("agents"));
    const [agent, read, cycle, health] = await Promise.all([
      start("agent"),
      start("read"),
      start("cycle"),
      start("health"),
    ]);
    expect((await agent.api.post("/api/tasks", { title: "Look at E" }, WITH_TOKEN)).status).toBe(201);
    expect(await runScheduled(cycle)).toMatchObject({ failed_steps: [], complete: true });
    expect((await read.api.get("/api/tasks")).body.tasks).toMatchObject([{ title: "Look at E", status: "completed" }]);
    expect((await agent.api.post("/api/chat", { message: "status?" }, WITH_TOKEN)).status).toBe(200);
    const ran = await agent.api.post("/api/action/run-now", { action: "checkpoint" }, WITH_TOKEN);
    expect(ran.body).toMatchObject({ status: "completed" });
    expect((await agent.api.post("/api/action/run-now", { action: "cycle" })).status).toBe(401);
    expect((await health.api.get("/readyz")).body).toMatchObject({ ready: true });
  });

  testWithDynamoDb(
    "a change applies automatically in the next cycle, or in the second one after its time",
    async () => {
      const policy = { apply_when: ["manual", "approved", "scheduled"] };
      const deploy = deployOn(await makeTable("automatic"));
      const start = (name: Name, minutes = 0) =>
        deploy(name, {
          SVC_PRODUCT_INTENT_JSON: JSON.stringify(manifest({ policy })),
          CLOCK_OFFSET_MS: String(minutes * 60_000),
        });
      const { api } = await start("product");
      const approve = async (target: string, apply_when: string): Promise<string> => {
        const { change_id } = (await api.post("propose", { ...PROPOSAL, target, apply_when }, WITH_TOKEN)).body;
        expect((await api.act("approve", change_id, WITH_TOKEN)).body.status).toBe("approved");
        return change_id;
      };
      const immediate = await approve("ui.once", "approved");
      const later = await approve("ui.later", new Date(Date.now() + 3600_000).toISOString());
      const read = await start("read");
      const statuses = async () => [(await read.api.change(immediate)).status, (await read.api.change(later)).status];
      expect(await runScheduled(await start("cycle"))).toMatchObject({ failed_steps: [] });
      expect(await statuses()).toEqual(["applied", "approved"]);
      // Two cycles at least ten minutes apart confirm that a time has passed: those at 61 and 72.
      await runScheduled(await start("cycle", 61));
      expect(await statuses()).toEqual(["applied", "approved"]);
      await runScheduled(await start("cycle", 72));
      expect(await statuses()).toEqual(["applied", "applied"]);
      expect(host.effects).toEqual(expect.arrayContaining([`apply ${immediate}`, `apply ${later}`]));
    },
  );

  testWithDynamoDb("a cycle that finds the chain broken is an error, which Lambda counts", async () => {
    const table = await makeTable("broken_chain");
    const start = deployOn(table);
    const [product, cycle] = await Promise.all([start("product"), start("cycle")]);
    await product.api.post("propose", PROPOSAL, WITH_TOKEN);
    expect(await runScheduled(cycle)).toMatchObject({ failed_steps: [] });
    const store = dynamoDbStore(server!.access(table));
    await store.transact(async (tx) => {
      const entry = (await tx.get("audit", entryKey(2)))!.value;
      tx.put("audit", entryKey(2), { ...entry, tenant: "another" });
    });
    await store.close();
    await expect(runScheduled(await start("cycle"))).rejects.toThrow("the audit chain does not hold at entry 2");
    const read = await start("read");
    // The failed cycle was counted too.
    expect((await read.api.get("/api/state")).body.tick).toBe(2);
  });

  testWithDynamoDb("an instance with a key signs checkpoints, and one with a model uses it in chat", async () => {
    const { url, received } = await provider(() => ({ text: "all is well" }));
    const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    const start = deployOn(await makeTable("signed"));
    const [product, agent] = await Promise.all([
      start("product", { SVC_AUDIT_KEY_PEM: String(pem) }),
      start("agent", { SVC_LLM: url, SVC_LLM_MODEL: "m1", SVC_LLM_KEY: "key of the model" }),
    ]);
    await product.api.post("propose", PROPOSAL, WITH_TOKEN);
    expect((await product.api.get("audit/checkpoint")).body).toMatchObject({ length: 2, signed: true });
    const reply = await agent.api.post("/api/chat", { message: "how is it?" }, WITH_TOKEN);
    expect(reply.body.reply).toMatchObject({ mode: "llm", text: "all is well" });
    expect(received[0]!.headers.authorization).toContain("key of the model");
  });

  testWithDynamoDb(
    "an apply of a killed instance keeps its lease for a minute; then another instance resolves the apply",
    async () => {
      const start = deployOn(await makeTable("killed"));
      const [killed, other] = await Promise.all([start("product"), start("product")]);
      const { change_id } = (await killed.api.post("propose", PROPOSAL, WITH_TOKEN)).body;
      await killed.api.act("approve", change_id, WITH_TOKEN);
      host.planFault("apply", "after", neverRespond);
      const applying = killed.api.act("apply", change_id, WITH_TOKEN).catch((error: Error) => error.message);
      await expect.poll(() => host.effects, { timeout: 60_000 }).toContain(`apply ${change_id}`);
      killed.child.kill("SIGKILL");
      expect(await applying).toBe("the instance is gone");

      const early = await other.api.act("apply", change_id, WITH_TOKEN);
      expect(early).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
      const late = await start("cycle", { CLOCK_OFFSET_MS: "61000" });
      expect(await runScheduled(late)).toMatchObject({ failed_steps: [] });
      const read = await start("read");
      expect((await read.api.change(change_id)).status).toBe("applied");
      const last = (await read.api.audit()).at(-1);
      expect(last.event_type).toBe("change_applied");
      expect(JSON.parse(last.detail)).toMatchObject({ resolved_after_interruption: true });
      expect(host.effects.filter((effect) => effect === `apply ${change_id}`)).toHaveLength(1);
    },
  );
});

test("the console is served by a function without access to a table or a secret", async () => {
  const bundle = join(folder, "functions/console/index.mjs");
  const { fetch, logged } = await startInstance(bundle, { SVC_BASE_PATH: "/governance" });
  const { get } = client(fetch, "https://gov.acme.example/governance");
  const page = await get("/");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(Object.fromEntries(page.headers)).toMatchObject(CONSOLE_HEADERS);
  for (const [, name] of page.text.matchAll(/(?:src|href)="([\w.]+\.\w+)"/g)) {
    const file = await get(`/${name}`);
    expect(file.status, name).toBe(200);
    // The script is one file, since each concurrent request for a further file would start an instance.
    expect(file.text, name).not.toContain("chunks/");
    expect((await get(`/${name}`, { "if-none-match": file.headers.get("etag")! })).status).toBe(304);
  }
  const bare = await fetch(new Request("https://gov.acme.example/governance?lang=en"));
  expect([bare.status, bare.headers.get("location")]).toEqual([308, "/governance/?lang=en"]);
  expect(await get("/api/state")).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(logged()).toBe("");
});

describe("an instance", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  testWithDynamoDb("reads its secrets again after ten minutes, so that a replaced token becomes invalid", async () => {
    const env = configuration(await makeTable("rotated"), "product");
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const handler = lambdaFunction([{ propose }]);
    const { post } = client(async (request) => toFetchResponse(await handler(await makeEvent(request), context())));
    const write = async (token: string) => (await post("propose", PROPOSAL, { "x-svc-admin-token": token })).status;
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await write(TOKEN)).toBe(201);
    secret = { ...secret, SVC_ADMIN_TOKEN: "another admin token" };
    try {
      const requestsBefore = secrets.operations.length;
      expect(await write(TOKEN)).toBe(201);
      expect(secrets.operations).toHaveLength(requestsBefore);
      vi.setSystemTime(Date.now() + 11 * 60_000);
      expect(await write(TOKEN)).toBe(401);
      expect(await write("another admin token")).toBe(201);
      expect(secrets.operations).toHaveLength(requestsBefore + 1);
    } finally {
      secret = { ...secret, SVC_ADMIN_TOKEN: TOKEN };
    }
  });

  testWithDynamoDb("reads its intent from SSM again after ten minutes, so that a new intent takes effect", async () => {
    let version = "2026.11";
    const operations: string[] = [];
    const ssm = await startEndpoint(
      createServer((request, response) => {
        operations.push(String(request.headers["x-amz-target"]));
        // A new intent needs a higher epoch: 4 at the first request, 5 at the second.
        const Value = JSON.stringify(manifest({ version, update_epoch: operations.length + 3 }));
        response.end(JSON.stringify({ Parameter: { Value } }));
      }),
      operations,
    );
    endpoints.push(ssm);
    const { SVC_SECRETS_ARN: _, ...env } = configuration(await makeTable("intent_in_ssm"), "read");
    const intentAddress = {
      SVC_PRODUCT_INTENT_JSON: "",
      SVC_PRODUCT_INTENT: "ssm:/acme/intent",
      AWS_ENDPOINT_URL_SSM: ssm.url,
    };
    for (const [name, value] of Object.entries({ ...env, ...intentAddress })) vi.stubEnv(name, value);
    vi.useFakeTimers({ toFake: ["Date"] });
    const handler = lambdaFunction([{ intent }]);
    const { get } = client(async (request) => toFetchResponse(await handler(await makeEvent(request), context())));
    const readVersion = async () => (await get("intent")).body.version;
    expect(await readVersion()).toBe("2026.11");
    version = "2026.12";
    expect(await readVersion()).toBe("2026.11");
    vi.setSystemTime(Date.now() + 11 * 60_000);
    expect(await readVersion()).toBe("2026.12");
    expect(operations).toEqual(["AmazonSSM.GetParameter", "AmazonSSM.GetParameter"]);
  });

  testWithDynamoDb("of the function cycle reads its secrets again after ten minutes", async () => {
    const env = configuration(await makeTable("rotated_cycle"), "cycle");
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    vi.useFakeTimers({ toFake: ["Date"] });
    const { handler } = await import("../../../lib/hosts/lambda/cycle.ts");
    const requestsBefore = secrets.operations.length;
    const requestsAfter = async (minutes: number) => {
      vi.setSystemTime(Date.now() + minutes * 60_000);
      expect(await handler({}, context())).toMatchObject({ failed_steps: [] });
      return secrets.operations.length - requestsBefore;
    };
    expect(await requestsAfter(0)).toBe(1);
    expect(await requestsAfter(9)).toBe(1);
    expect(await requestsAfter(2)).toBe(2);
  });
});

describe("the table or its reads cannot be used:", () => {
  testWithDynamoDb("a table with constant conflicts is 503 with Retry-After, and nothing is changed", async () => {
    const table = await makeTable("contended");
    const start = deployOn(table);
    const product = await start("product");
    await product.api.post("propose", PROPOSAL, WITH_TOKEN);
    const busyTable = await startDynamoDbProxy(server!.url, (operation) =>
      operation === "TransactWriteItems"
        ? { __type: "#TransactionCanceledException", CancellationReasons: [{ Code: "TransactionConflict" }] }
        : undefined,
    );
    endpoints.push(busyTable);
    const { api } = await start("product", { AWS_ENDPOINT_URL_DYNAMODB: busyTable.url });
    const reply = await api.post("propose", PROPOSAL, WITH_TOKEN);
    expect(reply).toMatchObject({ status: 503, body: { code: "store_busy" } });
    expect(reply.headers.get("retry-after")).toBe("1");
    const attempts = busyTable.operations.filter((operation) => operation === "TransactWriteItems").length;
    expect(attempts).toBeGreaterThan(1);
    // The store gives up a commit after 24 attempts.
    expect(attempts).toBeLessThanOrEqual(24);
    const read = await start("read");
    expect(await read.api.audit()).toHaveLength(2);
  });

  testWithDynamoDb("a missing table is 503, and the log says what to do; liveness needs no table", async () => {
    const start = deployOn("made_later");
    const [read, health] = await Promise.all([start("read"), start("health")]);
    expect((await read.api.get("/api/log")).body).toMatchObject({ code: "store_unavailable", status: 503 });
    expect(read.logged()).toContain("make the table first");
    expect((await health.api.get("/livez")).status).toBe(200);
    await makeTable("made_later");
    expect((await read.api.get("/api/log")).status).toBe(200);
  });

  testWithDynamoDb("reads need a token by default, in each function", async () => {
    const protectedReads = { SVC_PROTECT_READS: "" };
    const start = deployOn(await makeTable("protected"));
    const [read, product] = [await start("read", protectedReads), await start("product", protectedReads)];
    await product.api.post("propose", PROPOSAL, WITH_TOKEN);
    for (const [api, path] of [
      [read.api, "intent"],
      [product.api, "audit/checkpoint"],
    ] as const) {
      expect(await api.get(path)).toMatchObject({ status: 401, body: { code: "unauthorized" } });
      expect((await api.get(path, WITH_TOKEN)).status).toBe(200);
    }
    expect((await read.api.get("/api/whoami", WITH_TOKEN)).body).toMatchObject({ authenticated: "token" });
  });

  testWithDynamoDb("with the table of another product the service cannot start; response and log say so", async () => {
    const start = deployOn(await makeTable("foreign"));
    const first = await start("product");
    await first.api.post("propose", PROPOSAL, WITH_TOKEN);
    const foreign = { SVC_PRODUCT_INTENT_JSON: JSON.stringify(manifest({ product_id: "other" })) };
    for (const name of ["product", "read"] as const) {
      const { api, logged } = await start(name, foreign);
      const reply = name === "read" ? await api.get("identity") : await api.post("propose", PROPOSAL, WITH_TOKEN);
      expect(reply).toMatchObject({ status: 503, body: { code: "cannot_start" } });
      expect(reply.body.error).toContain("product_id must match");
      expect(reply.headers.get("retry-after")).toBe("5");
      expect(logged()).toContain("product_id must match");
    }
  });
});

describe("permissions on the table", () => {
  const groupReads = GET_PATHS.filter((path) => functionGroup(findEndpoint("GET", path.split("?")[0]!)!) === "read");

  testWithDynamoDb.each(["a table in use", "a new table"])(
    "on %s the functions that read need GetItem and Query only",
    async (state) => {
      const table = await makeTable(state.replaceAll(" ", "_"));
      const start = deployOn(table);
      let change_id = "chg_none";
      if (state === "a table in use") {
        const { api } = await start("product");
        ({ change_id } = (await api.post("propose", PROPOSAL, WITH_TOKEN)).body);
        await api.post("kpi", { csat: 4 }, WITH_TOKEN);
        await runScheduled(await start("cycle"));
      }
      const proxy = await startDynamoDbProxy(server!.url, allowOnly("GetItem", "BatchGetItem", "Query"));
      endpoints.push(proxy);
      const { api } = await start("read", { AWS_ENDPOINT_URL_DYNAMODB: proxy.url });
      expect(groupReads.length).toBeGreaterThan(15);
      // `CHANGE` and `FILE` in a path stand for an id and a file name.
      const isMissing = (path: string) =>
        path.includes("FILE") || (path.includes("CHANGE") && change_id === "chg_none");
      await Promise.all(
        groupReads.map(async (path) => {
          const { status } = await api.get(path.replace("CHANGE", change_id));
          expect(status, path).toBe(isMissing(path) ? 404 : 200);
        }),
      );
      // The function may not write, so it cannot report whether the store accepts writes.
      expect((await api.get("/api/metrics")).text).not.toContain("countersign_writes_taken");
      expect(new Set(proxy.operations)).toEqual(new Set(["GetItem", "Query"]));
    },
  );

  testWithDynamoDb("a function that cannot write shows an expiry, which the next cycle records", async () => {
    const start = deployOn(await makeTable("overdue"));
    const { change_id } = (await (await start("product")).api.post("propose", PROPOSAL, WITH_TOKEN)).body;
    const proxy = await startDynamoDbProxy(server!.url, allowOnly("GetItem", "BatchGetItem", "Query"));
    endpoints.push(proxy);
    /** Returns the setting of a clock that is 73 hours and some minutes ahead; a proposal expires after 72 hours. */
    const after = (minutes: number) => ({ CLOCK_OFFSET_MS: String(73 * 3600_000 + minutes * 60_000) });
    // The first cycle notes the expiry; the clock is trusted when a later request confirms it.
    await runScheduled(await start("cycle", after(0)));
    const later = after(11);
    const { api } = await start("read", { ...later, AWS_ENDPOINT_URL_DYNAMODB: proxy.url });
    const expired = { status: "denied", resolution: "expired" };
    expect(await api.change(change_id)).toMatchObject({ ...expired, revision: 1 });
    expect((await api.get("approvals")).body.pending).toEqual([]);
    await runScheduled(await start("cycle", later));
    expect(await api.change(change_id)).toMatchObject({ ...expired, revision: 2 });
  });

  testWithDynamoDb(
    "readiness also needs permission to write, and the description of the API needs no table",
    async () => {
      const start = deployOn(await makeTable("health"));
      await (await start("product")).api.post("propose", PROPOSAL, WITH_TOKEN);
      const proxy = await startDynamoDbProxy(
        server!.url,
        allowOnly("GetItem", "Query", "BatchGetItem", "PutItem", "TransactWriteItems"),
      );
      endpoints.push(proxy);
      const [health, docs] = await Promise.all([
        start("health", { AWS_ENDPOINT_URL_DYNAMODB: proxy.url }),
        start("docs", { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" }),
      ]);
      expect((await health.api.get("/readyz")).body).toMatchObject({ ready: true });
      expect(proxy.operations).toContain("TransactWriteItems");
      expect((await docs.api.get("/openapi.json")).body.openapi).toMatch(/^3\.1/);
      expect((await docs.api.get("/docs")).status).toBe(200);
    },
  );

  testWithDynamoDb("capabilities list the features that functions lack as disabled", async () => {
    const { api } = await deployOn(await makeTable("capable"))("read");
    const rows = new Map<string, { status: string; reason: string | null }>();
    for (const row of (await api.get("/api/capabilities")).body.capabilities) rows.set(row.id, row);
    for (const id of ["event_stream", "cross_link", "evolved_files", "process_metrics", "notifications", "ui"]) {
      expect(rows.get(id), id).toMatchObject({ status: "disabled" });
      expect(rows.get(id)!.reason, id).toMatch(/\S/);
    }
    for (const id of ["admin_token", "product_adapter", "cycle_timer", "product_runtime"])
      expect(rows.get(id), id).toMatchObject({ status: "available" });
    expect(await api.get("/api/events")).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await api.get("intent")).body.adapter).toMatchObject({ name: "webhook" });
  });
});
