/** The typed client: responses, errors, retries, waiting for a decision, and abort. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createClient, CountersignError, type Retry } from "../../../lib/client/client.ts";
import { PROPOSAL } from "../../support/client.ts";
import { app } from "../../../handlers/index.ts";
import { openDeps, type TestOptions } from "../../support/deps.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

const BASE = "http://127.0.0.1:8420/governance";
const CONFIG = { ...PROPOSAL, kind: "config" } as const;

/** Simulates the network for one request: returns any response, fails, or calls `serve` for the response of the service. */
type Network = (request: Request, serve: () => Promise<Response>) => Promise<Response>;

const responseLost: Network = async (_, serve) => {
  await serve();
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("other side closed"), { code: "UND_ERR" }) });
};
/** The connection ends in the middle of the response. */
const responseCut: Network = async (_, serve) => {
  const { status, headers } = await serve();
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('{"change_id":'));
      controller.error(new TypeError("terminated", { cause: new Error("other side closed") }));
    },
  });
  return new Response(body, { status, headers });
};
const unreachable: Network = async () => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:8420") });
};
const respondWith =
  (status: number, body: object | string = "<html>", headers: Record<string, string> = {}): Network =>
  async () =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

/** Connects a client to a service. `networks` simulate the network for the first requests; later requests succeed. */
async function connect(networks: Network[] = [], options: TestOptions = {}, retry: Partial<Retry> = {}) {
  const fetch = app(await openDeps(options), { base: "/governance" });
  const requests: Request[] = [];
  const pauses: number[] = [];
  const client = createClient({
    baseUrl: BASE,
    headers: options.adminToken ? { "X-Svc-Admin-Token": options.adminToken } : {},
    fetch: (request) => {
      requests.push(request.clone());
      const network = networks.shift();
      return network ? network(request, () => fetch(request.clone())) : fetch(request);
    },
    retry: { random: () => 0.5, pause: async (ms) => void pauses.push(ms), ...retry },
  });
  return { client, requests, pauses };
}

/** Returns the error with which a call fails. */
const failureOf = async (call: Promise<unknown>): Promise<CountersignError> => {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(CountersignError);
  return error as CountersignError;
};

test("proposals, decisions, applies, reads and downloads have typed responses", async () => {
  const { client } = await connect([], { adminToken: "a-token-of-tests", adapter: scriptedAdapter() });
  const { change_id } = await client.post("/api/product/propose", { body: { ...CONFIG, value: { on: true } } });
  const decided = await client.post("/api/product/approve", { body: { change_id, approver: "ana" } });
  expect(decided.change.status).toBe("approved");
  const applied = await client.post("/api/product/apply", { body: { change_id } });
  expect(applied.adapter?.name).toBe("scripted");
  const change = await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } });
  expect([change.status, change.value]).toEqual(["applied", { on: true }]);
  const listed = await client.get("/api/product/runtime", { params: { query: { status: "applied", limit: 1 } } });
  expect(listed.changes.map((change) => change.change_id)).toEqual([change_id]);
  const exported = await client.download("/api/product/audit", { params: { query: { format: "jsonl" } } });
  // The intent, the proposal, the consent and the apply.
  expect((await exported.text()).trim().split("\n")).toHaveLength(4);
});

test("a proposal whose response is lost is sent again and creates one change", async () => {
  const { client, requests } = await connect([responseLost, respondWith(504)]);
  const change = await client.post("/api/product/propose", { body: CONFIG });
  expect(change.status).toBe("pending_consent");
  expect((await client.get("/api/product/runtime")).total).toBe(1);
  const keys = requests.map(({ headers }) => headers.get("idempotency-key"));
  expect(keys.slice(0, 3)).toEqual(Array(3).fill(keys[0]));
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  // The fourth request is the read.
  expect(keys[3]).toBeNull();
  await client.post("/api/product/propose", { body: CONFIG });
  expect(requests.at(-1)!.headers.get("idempotency-key")).not.toBe(keys[0]);
});

test("a request whose response is cut is sent again, and fails if every response is cut", async () => {
  const { client, requests } = await connect([responseCut]);
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  expect(requests).toHaveLength(2);
  expect((await client.get("/api/product/runtime")).total).toBe(1);
  const { client: failing } = await connect([responseCut, responseCut, responseCut]);
  const error = await failureOf(failing.get("/api/state"));
  expect(error).toMatchObject({ code: "unreachable", message: `${BASE} cannot be reached: other side closed` });
  const { client: waiting } = await connect([responseCut, responseCut, responseCut]);
  expect((await failureOf(waiting.waitForDecision(change_id))).code).toBe("unreachable");
});

test("a TLS failure is reported by its error code", async () => {
  const cause = Object.assign(new Error("805C:error:0A00010B:SSL routines:\n"), {
    code: "ERR_SSL_WRONG_VERSION_NUMBER",
  });
  const { client } = await connect(
    [() => Promise.reject(new TypeError("fetch failed", { cause }))],
    {},
    { attempts: 1 },
  );
  const { message } = await failureOf(client.get("/api/state"));
  expect(message).toBe(`${BASE} cannot be reached: ERR_SSL_WRONG_VERSION_NUMBER`);
});

test("an idempotency key of the caller is sent unchanged", async () => {
  const { client, requests } = await connect();
  const params = { header: { "Idempotency-Key": "job-17" } };
  const [first, second] = [
    await client.post("/api/product/propose", { body: CONFIG, params }),
    await client.post("/api/product/propose", { body: CONFIG, params }),
  ];
  expect(second).toEqual(first);
  expect(requests[0]!.headers.get("idempotency-key")).toBe("job-17");
});

/** Members of an error of the service. */
const SERVICE_ERROR = { error: "no", status: 503, request_id: "r1" };

/** The first pause is half of 500 ms, because `random` returns 0.5. */
test.each<[title: string, network: Network, pauseMs: number]>([
  ["a request without a response", unreachable, 250],
  ["a gateway's 502", respondWith(502), 250],
  ["a gateway's 504", respondWith(504), 250],
  ["a gateway's 503", respondWith(503), 250],
  ["a 429 with Retry-After", respondWith(429, "", { "retry-after": "7" }), 7000],
  ["a 503 of a busy store", respondWith(503, { ...SERVICE_ERROR, code: "store_busy" }, { "retry-after": "1" }), 1000],
])("%s is retried", async (_, network, pause) => {
  const { client, pauses } = await connect([network]);
  expect((await client.post("/api/product/propose", { body: CONFIG })).status).toBe("pending_consent");
  expect(pauses).toEqual([pause]);
});

test.each<[string, Network, Partial<CountersignError>]>([
  [
    "a host product that failed",
    respondWith(502, { ...SERVICE_ERROR, code: "adapter_failed" }),
    { code: "adapter_failed" },
  ],
  [
    "a broken chain",
    respondWith(503, { ...SERVICE_ERROR, code: "chain_broken" }),
    { code: "chain_broken", request_id: "r1" },
  ],
  ["a pause that is too long", respondWith(503, "", { "retry-after": "3600" }), { code: "unexpected_answer" }],
  ["a 404 that is not from the service", respondWith(404), { code: "unexpected_answer", status: 404 }],
])("%s is reported without a retry", async (_, network, reported) => {
  const { client, requests } = await connect([network]);
  expect(await failureOf(client.post("/api/product/propose", { body: CONFIG }))).toMatchObject(reported);
  expect(requests).toHaveLength(1);
});

test("a write without an idempotency key is never sent twice", async () => {
  const { client, requests } = await connect([responseLost]);
  const error = await failureOf(client.post("/api/chat", { body: { message: "hello" } }));
  expect(error).toMatchObject({ code: "unreachable", status: 0 });
  expect(error.message).toBe(`${BASE} cannot be reached: other side closed`);
  expect(requests).toHaveLength(1);
});

test("pauses between attempts grow, and after the last attempt its failure is reported", async () => {
  const { client, requests, pauses } = await connect(Array(5).fill(unreachable), {}, { attempts: 4, capMs: 1500 });
  expect(await failureOf(client.get("/api/state"))).toMatchObject({
    code: "unreachable",
    cause: expect.any(TypeError),
  });
  expect(requests).toHaveLength(4);
  // Half of 500, of 1000 and of the maximum of 1500, because `random` returns 0.5.
  expect(pauses).toEqual([250, 500, 750]);
});

test("an error has the code, the field and the request id of the response", async () => {
  const { client } = await connect();
  const error = await failureOf(client.post("/api/product/propose", { body: { ...CONFIG, affected_users: -1 } }));
  expect(error).toMatchObject({ code: "invalid_field", status: 400, field: "affected_users" });
  expect(error.request_id).toBe(error.details["request_id"]);
  expect(error.message).toContain("affected_users");
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  const early = await failureOf(client.post("/api/product/apply", { body: { change_id } }));
  expect(early).toMatchObject({ code: "illegal_transition", details: { current_status: "pending_consent" } });
});

test("a response with status 200 that is no JSON is an error", async () => {
  const { client } = await connect([respondWith(200)]);
  expect(await failureOf(client.get("/api/state"))).toMatchObject({ code: "unexpected_answer", status: 200 });
});

test("an abort ends a call during a pause with the reason of the abort", async () => {
  const { client } = await connect([unreachable], {}, { pause: (_, signal) => rejectOnAbort(signal) });
  const reason = new Error("enough");
  const controller = new AbortController();
  const call = client.get("/api/state", { signal: controller.signal });
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
});

const rejectOnAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });

test("an abort also ends the default pause", async () => {
  const failingFetch = () => Promise.reject(new TypeError("fetch failed"));
  const client = createClient({
    baseUrl: BASE,
    fetch: failingFetch,
    retry: { baseMs: 1e6, capMs: 1e6, random: () => 1 },
  });
  const controller = new AbortController();
  const call = client.get("/api/state", { signal: controller.signal });
  setImmediate(() => controller.abort());
  await expect(call).rejects.toMatchObject({ name: "AbortError" });
});

test("waitForDecision waits for a decision, even if the service responds without waiting", async () => {
  const { client } = await connect();
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  const reads: string[] = [];
  const pausing = createClient({
    baseUrl: BASE,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      reads.push(`${search} ${request.headers.get("if-none-match")}`);
      if (reads.length === 3) await client.post("/api/product/deny", { body: { change_id, approver: "ana" } });
      expect(pathname).toBe(`/governance/api/product/changes/${change_id}`);
      return Response.json(await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } }));
    },
    retry: { pause: async () => undefined },
  });
  expect((await pausing.waitForDecision(change_id)).status).toBe("denied");
  // After the first read, a request names the revision that it knows, and asks the service to wait for another.
  expect(reads).toEqual([" null", '?wait=50 "1"', '?wait=50 "1"']);
});

test("waitForDecision continues while the service is unreachable, and ends for an unknown change", async () => {
  const { client: ana } = await connect();
  const { change_id } = await ana.post("/api/product/propose", { body: CONFIG });
  const read = async () =>
    Response.json(await ana.get("/api/product/changes/{change_id}", { params: { path: { change_id } } }));
  const notFound = respondWith(404, { error: "no", code: "change_not_found", status: 404 });
  const { client: afterLoss } = await connect([read, notFound]);
  expect((await failureOf(afterLoss.waitForDecision(change_id))).status).toBe(404);
  const networks: Network[] = [
    read,
    ...Array<Network>(6).fill(unreachable),
    respondWith(502),
    respondWith(502),
    respondWith(502),
  ];
  const decided: Network = async () => {
    await ana.post("/api/product/deny", { body: { change_id, approver: "ana" } });
    return read();
  };
  const { client, requests } = await connect([...networks, decided]);
  expect((await client.waitForDecision(change_id)).status).toBe("denied");
  expect(requests).toHaveLength(networks.length + 1);
});

test("waitForDecision returns a decided change immediately, and ends when its signal aborts", async () => {
  const { client, requests } = await connect();
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  await expect(client.waitForDecision(change_id, { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  await client.post("/api/product/approve", { body: { change_id, approver: "ana" } });
  requests.length = 0;
  expect((await client.waitForDecision(change_id)).status).toBe("approved");
  expect(requests).toHaveLength(1);
  expect(await failureOf(client.waitForDecision("chg_none"))).toMatchObject({ code: "change_not_found" });
});

test("redirects are not followed, so that no other origin gets the token", async () => {
  const received: unknown[] = [];
  const otherOrigin = await listen((request, response) => {
    received.push(request.headers);
    response.end("{}");
  });
  const location = `${otherOrigin.url}/api/state`;
  const redirecting = await listen((_, response) => response.writeHead(307, { location }).end());
  try {
    const client = createClient({ baseUrl: redirecting.url, headers: { "X-Svc-Admin-Token": "a-token-of-tests" } });
    expect(await failureOf(client.get("/api/state"))).toMatchObject({ code: "unexpected_answer", status: 307 });
    expect(received).toEqual([]);
  } finally {
    for (const { server } of [redirecting, otherOrigin]) server.close();
  }
});

async function listen(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
