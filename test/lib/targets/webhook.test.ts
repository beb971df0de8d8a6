/** The adapter of a host product with a webhook: its signed requests, retries, invalid answers, and governed changes over it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { checkWebhookUrl, webhookAdapter, type WebhookAdapterOptions } from "../../../lib/targets/webhook.ts";
import { countersign } from "../../../handlers/index.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { client } from "../../support/client.ts";
import { manifest } from "../../support/intents.ts";
import { get } from "../../support/requests.ts";
import { silentLog } from "../../support/silent_log.ts";
import { testClock } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import {
  respond,
  loseConnection,
  neverRespond,
  startWebhookHost,
  type FaultyResponse,
  type WebhookHost,
} from "../../support/webhook_host.ts";

const SECRET = "a secret of the test";
const CHANGE = { change_id: "chg_1", target: "ui.banner", value: { on: true }, revision: 3 } as Change;
const OPERATIONS = ["validate", "apply", "verify", "rollback"] as const;

let host: WebhookHost;
let pauses: number[];
beforeEach(async () => {
  host = await startWebhookHost(SECRET);
  pauses = [];
});
afterEach(() => host.stop());

const makeAdapter = (options: Partial<WebhookAdapterOptions> = {}) =>
  webhookAdapter({
    url: host.url,
    secret: SECRET,
    product_id: "acme-crm",
    instance_id: "acme-crm@local",
    clock: testClock(),
    sleep: async (ms) => void pauses.push(ms),
    ...options,
  });
const neverAborted = new AbortController().signal;
const readFailure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (answer) => `no failure but ${JSON.stringify(answer)}`,
    (error: Error) => error.message,
  );

describe("a request", () => {
  test("states operation, change and caller, and has a signature of Standard Webhooks", async () => {
    const adapter = makeAdapter();
    // The host product rejects a request whose signature does not match.
    for (const operation of OPERATIONS) await adapter[operation](CHANGE, neverAborted);
    expect(host.received.map(({ operation }) => operation)).toEqual(OPERATIONS);
    for (const { operation, headers, body } of host.received) {
      expect(body).toEqual({ operation, product_id: "acme-crm", instance_id: "acme-crm@local", change: CHANGE });
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["webhook-id"]).toMatch(new RegExp(`^chg_1:${operation}:3`));
      // The seconds at which `testClock` starts.
      expect(headers["webhook-timestamp"]).toBe(String(Math.floor(Date.parse("2026-01-02T03:04:05Z") / 1000)));
    }
  });

  test("with another secret is rejected by the host product, and fails", async () => {
    const message = await readFailure(makeAdapter({ secret: "another secret of it" }).apply(CHANGE, neverAborted));
    expect(message).toBe("the host product answered apply with status 401: not signed");
    expect(host.effects).toEqual([]);
  });

  test("that changes something has one key for each revision of the change", async () => {
    const adapter = makeAdapter();
    host.planFault("apply", "after", loseConnection, 2);
    await adapter.apply(CHANGE, neverAborted);
    await adapter.verify(CHANGE, neverAborted);
    await adapter.apply({ ...CHANGE, revision: 4 }, neverAborted);
    const keys = host.received.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual(["chg_1:apply:3", "chg_1:apply:3", "chg_1:apply:3", undefined, "chg_1:apply:4"]);
  });
});

test("a read has a new id each time, and the same id when it is retried", async () => {
  const adapter = makeAdapter();
  host.planFault("verify", "after", loseConnection, 1);
  await adapter.verify(CHANGE, neverAborted);
  await adapter.verify(CHANGE, neverAborted);
  const [first, again, second] = host.received.map(({ headers }) => headers["webhook-id"]);
  expect(again).toBe(first);
  expect(second).not.toBe(first);
});

describe("a capability", () => {
  const lines: string[] = [];
  const log = { info: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) };

  test("fails while the host product does not run, and says so once", async () => {
    const adapter = makeAdapter({ log });
    expect(await adapter.findProblem!()).toBeNull();
    await adapter.ping!(neverAborted);
    expect(await adapter.findProblem!()).toBeNull();
    expect(host.received).toEqual([]);
    await host.stop();
    for (let count = 0; count < 2; count++) await adapter.ping!(neverAborted);
    expect(await adapter.findProblem!()).toBe("the host product cannot be reached (ECONNREFUSED)");
    expect(lines.splice(0)).toEqual(["a target system cannot be used"]);
    host = await startWebhookHost(SECRET, host.port);
    await adapter.ping!(neverAborted);
    expect(await adapter.findProblem!()).toBeNull();
    expect(lines).toEqual(["a target system can be used again"]);
  });

  test("is failing in the answer after a cycle, and available when the host product runs again", async () => {
    const targets = [{ name: "crm", match: ["*"], adapter: makeAdapter() }];
    const running = await countersign({
      store: memoryStore(),
      intent: manifest(),
      targets,
      log: silentLog,
      wholeCycles: true,
    });
    const statusOf = async () => {
      await running.cycle();
      const { body } = await client(running.fetch).send(get("/api/capabilities"));
      return body.capabilities.find(({ id }: { id: string }) => id === "target:crm").status;
    };
    expect(await statusOf()).toBe("available");
    await host.stop();
    expect(await statusOf()).toBe("failing");
    host = await startWebhookHost(SECRET, host.port);
    expect(await statusOf()).toBe("available");
    await running.close();
  });

  test.each([502, 503, 504])("fails when a proxy answers a ping with %i", async (status) => {
    const adapter = makeAdapter({ fetch: async () => new Response(null, { status }) });
    await adapter.ping!(neverAborted);
    expect(await adapter.findProblem!()).toBe(`the host product answered with status ${status}`);
  });

  test("fails from a rejected signature until another is accepted, whatever a ping finds", async () => {
    const adapter = makeAdapter();
    host.planFault("verify", "before", respond(401, { error: "not signed" }));
    await readFailure(adapter.verify(CHANGE, neverAborted));
    await adapter.ping!(neverAborted);
    expect(await adapter.findProblem!()).toContain("rejects the signature (401)");
    await adapter.verify(CHANGE, neverAborted);
    expect(await adapter.findProblem!()).toBeNull();
  });
});

describe("an answer", () => {
  test("is returned", async () => {
    const adapter = makeAdapter();
    expect(await adapter.validate(CHANGE, neverAborted)).toEqual({ ok: true, preview: { would: "change" } });
    expect(await adapter.verify(CHANGE, neverAborted)).toBe("absent");
    expect(await adapter.apply(CHANGE, neverAborted)).toEqual({ result: "applied" });
    expect(await adapter.verify(CHANGE, neverAborted)).toBe("applied");
    host.planFault("rollback", "before", respond(200, { result: "superseded", detail: { by: "chg_9" }, more: 1 }));
    expect(await adapter.rollback(CHANGE, neverAborted)).toEqual({ result: "superseded", detail: { by: "chg_9" } });
    host.planFault("validate", "before", respond(200, { ok: false, reason: "no such banner" }));
    expect(await adapter.validate(CHANGE, neverAborted)).toEqual({ ok: false, reason: "no such banner" });
  });

  test.each(OPERATIONS)("to %s that is lost is requested again, and the work is done once", async (operation) => {
    const adapter = makeAdapter();
    host.planFault(operation, "after", loseConnection, 2);
    await adapter[operation](CHANGE, neverAborted);
    expect(host.received).toHaveLength(3);
    expect(host.effects.length).toBeLessThanOrEqual(1);
    expect(pauses).toEqual([100, 400]);
  });

  test("that breaks off is requested again", async () => {
    host.planFault("apply", "after", (response) => {
      response.writeHead(200, { "content-length": "100" }).write('{"result"');
      response.socket!.destroySoon();
    });
    expect(await makeAdapter().apply(CHANGE, neverAborted)).toEqual({ result: "applied" });
    expect(host.effects).toEqual(["apply chg_1"]);
  });

  test.each([429, 502, 503, 504])("of status %i is requested again", async (status) => {
    host.planFault("apply", "before", respond(status, "<html>proxy</html>"), 3);
    expect(await makeAdapter().apply(CHANGE, neverAborted)).toEqual({ result: "applied" });
    expect(pauses).toEqual([100, 400, 1600]);
  });

  const INVALID_ANSWERS: [title: string, response: FaultyResponse, message: string | RegExp][] = [
    [
      "a redirect",
      respond(307, "", { location: "http://127.0.0.1:1/" }),
      "the host product answered apply with a redirect; give its final address",
    ],
    [
      "an error with words",
      respond(500, { error: "disk full" }),
      "the host product answered apply with status 500: disk full",
    ],
    ["an error without words", respond(404, "not here"), "the host product answered apply with status 404"],
    ["no JSON", respond(200, "done"), "the host product's answer to apply is not JSON"],
    ["nothing", respond(204, ""), "the host product's answer to apply is not JSON"],
    ["another shape", respond(200, { done: true }), /^the host product's answer to apply is not as agreed: result: /],
    [
      "too much",
      respond(200, { result: "x".repeat(65_536) }),
      "the host product's answer to apply has more than 64 KiB",
    ],
    ["a gateway that never recovers", respond(502, ""), "the host product answered apply with status 502"],
  ];
  test.each(INVALID_ANSWERS)("that is invalid fails with the reason: %s", async (_, response, message) => {
    host.planFault("apply", "before", response, Infinity);
    const reported = await readFailure(makeAdapter().apply(CHANGE, neverAborted));
    if (typeof message === "string") expect(reported).toBe(message);
    else expect(reported).toMatch(message);
    expect(reported).not.toMatch(/secret|http:/);
  });

  test("without an end is cut off", async () => {
    let written = 0;
    host.planFault("apply", "before", (response) => {
      response.writeHead(200);
      const writeMore = (): void => {
        while (!response.destroyed && written < 50_000_000) {
          written += 16_384;
          if (!response.write("x".repeat(16_384))) return void response.once("drain", writeMore);
        }
      };
      writeMore();
    });
    expect(await readFailure(makeAdapter().apply(CHANGE, neverAborted))).toMatch(/more than 64 KiB/);
    expect(written).toBeLessThan(50_000_000);
  });

  test("to verify with an unknown word is rejected", async () => {
    host.planFault("verify", "before", respond(200, { state: "fine" }));
    expect(await readFailure(makeAdapter().verify(CHANGE, neverAborted))).toMatch(/not as agreed: state: /);
  });
});

describe("a host product", () => {
  test("that is unreachable gets four requests, and the reason is reported without its address", async () => {
    await host.stop();
    expect(await readFailure(makeAdapter().apply(CHANGE, neverAborted))).toBe(
      "the host product cannot be reached (ECONNREFUSED)",
    );
    expect(pauses).toEqual([100, 400, 1600]);
    host = await startWebhookHost(SECRET);
  });

  test("that does not respond in time gets no second request", async () => {
    host.planFault("apply", "after", neverRespond, Infinity);
    const timeLimit = new AbortController();
    const reported = readFailure(makeAdapter().apply(CHANGE, timeLimit.signal));
    await expect.poll(() => host.received.length, { timeout: 20_000 }).toBe(1);
    timeLimit.abort();
    expect(await reported).toBe("the host product did not answer apply in time");
    expect(host.received).toHaveLength(1);
    expect(pauses).toEqual([]);
  });

  test("whose time limit ends between two tries gets no further request", async () => {
    host.planFault("apply", "before", loseConnection, Infinity);
    const timeLimit = new AbortController();
    const adapter = makeAdapter({ sleep: async () => timeLimit.abort() });
    expect(await readFailure(adapter.apply(CHANGE, timeLimit.signal))).toBe(
      "the host product did not answer apply in time",
    );
    expect(host.received).toHaveLength(1);
  });
});

test.each([
  ["http://acme.example/hook", /https/],
  ["http://127.0.0.1.acme.example/hook", /https/],
  ["http://10.0.0.1/hook", /https/],
  ["ftp://127.0.0.1/hook", /https/],
  ["acme.example", /https/],
  ["https://user:sesame@acme.example/", /no user and password/],
])("the address %s is rejected", (url, rule) => {
  expect(() => checkWebhookUrl(url)).toThrow(rule);
  expect(() => checkWebhookUrl(url)).not.toThrow(/sesame|acme/);
});

test.each([
  "https://acme.example/hook?key=1",
  "http://localhost:3000/",
  "http://127.0.0.1:3000/",
  "http://[::1]:3000/",
])("the address %s is accepted", (url) => expect(checkWebhookUrl(url)).toBe(url));

describe("a governed change", () => {
  test("has one effect on the host product although every first answer is lost", async () => {
    const api = await core({ adapter: makeAdapter() });
    const change_id = await api.bring("approved");
    for (const operation of OPERATIONS) host.planFault(operation, "after", loseConnection);
    const applied = await api.act("apply", change_id);
    expect([applied.status, applied.body.adapter]).toEqual([200, { name: "webhook", result: "applied" }]);
    expect(host.effects).toEqual([`apply ${change_id}`]);
    host.planFault("verify", "after", loseConnection);
    const rolledBack = await api.act("rollback", change_id);
    expect([rolledBack.status, rolledBack.body.status]).toEqual([200, "rolled_back"]);
    expect(host.effects).toEqual([`apply ${change_id}`, `rollback ${change_id}`]);
    expect(host.states.get(change_id)).toBe("rolled_back");
  });

  test("requested by many concurrently is applied once", async () => {
    const api = await core({ adapter: makeAdapter() });
    const change_id = await api.bring("approved");
    const replies = await Promise.all([1, 2, 3, 4].map(() => api.act("apply", change_id)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    expect(host.effects).toEqual([`apply ${change_id}`]);
  });

  test("that the host product rejects or fails stays approved, and applies later under a new key", async () => {
    const api = await core({ adapter: makeAdapter() });
    const change_id = await api.bring("approved");
    host.planFault("validate", "before", respond(200, { ok: false, reason: "no such banner" }));
    expect((await api.act("apply", change_id)).body).toMatchObject({ code: "adapter_rejected" });
    host.planFault("apply", "after", respond(500, { error: "disk full" }));
    const failed = await api.act("apply", change_id);
    expect(failed.body).toMatchObject({ code: "adapter_failed", stage: "apply", host: "rolled_back" });
    expect((await api.audit()).at(-1).detail).toContain("the host product answered apply with status 500: disk full");
    expect((await api.act("apply", change_id)).status).toBe(200);
    expect(host.effects).toEqual(["apply", "rollback", "apply"].map((operation) => `${operation} ${change_id}`));
    const keys = host.received
      .filter(({ operation }) => operation === "apply")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });

  test("has a preview before it is applied", async () => {
    const api = await core({ adapter: makeAdapter() });
    const change_id = await api.bring("approved");
    const { body } = await api.post("apply", { change_id, dry_run: "true" });
    expect(body.adapter).toEqual({ name: "webhook", result: "valid", host: "absent", preview: { would: "change" } });
    expect(host.effects).toEqual([]);
  });
});
