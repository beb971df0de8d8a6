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

/** Handles a request on its way: the service answers it, unless a replacement is set. */
type Fate = (request: Request, serve: () => Promise<Response>) => Promise<Response>;

const lost: Fate = async (_, serve) => {
  await serve();
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("other side closed"), { code: "UND_ERR" }) });
};
/** The answer begins, and the connection ends in the middle of it. */
const brokenOff: Fate = async (_, serve) => {
  const { status, headers } = await serve();
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('{"change_id":'));
      controller.error(new TypeError("terminated", { cause: new Error("other side closed") }));
    },
  });
  return new Response(body, { status, headers });
};
const unreachable: Fate = async () => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:8420") });
};
const answering =
  (status: number, body: object | string = "<html>", headers: Record<string, string> = {}): Fate =>
  async () =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

/** A service and a client whose requests meet these fates, one after the other. */
async function connected(fates: Fate[] = [], options: TestOptions = {}, retry: Partial<Retry> = {}) {
  const fetch = app(await openDeps(options), { base: "/governance" });
  const requests: Request[] = [];
  const pauses: number[] = [];
  const client = createClient({
    baseUrl: BASE,
    headers: options.adminToken ? { "X-Svc-Admin-Token": options.adminToken } : {},
    fetch: (request) => {
      requests.push(request.clone());
      const fate = fates.shift();
      return fate ? fate(request, () => fetch(request.clone())) : fetch(request);
    },
    retry: { random: () => 0.5, pause: async (ms) => void pauses.push(ms), ...retry },
  });
  return { client, requests, pauses };
}

const refused = async (call: Promise<unknown>): Promise<CountersignError> => {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(CountersignError);
  return error as CountersignError;
};

test("a change goes from proposal to rollback, typed all the way", async () => {
  const { client } = await connected([], { adminToken: "a-token-of-tests", adapter: scriptedAdapter() });
  const { change_id } = await client.post("/api/product/propose", { body: { ...CONFIG, value: { on: true } } });
  const decided = await client.post("/api/product/approve", { body: { change_id, approver: "ana" } });
  expect(decided.change.status).toBe("approved");
  const applied = await client.post("/api/product/apply", { body: { change_id } });
  expect(applied.adapter?.name).toBe("scripted");
  const change = await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } });
  expect([change.status, change.value]).toEqual(["applied", { on: true }]);
  const listed = await client.get("/api/product/runtime", { params: { query: { status: "applied", limit: 1 } } });
  expect(listed.changes.map((one) => one.change_id)).toEqual([change_id]);
  const exported = await client.download("/api/product/audit", { params: { query: { format: "jsonl" } } });
  expect((await exported.text()).trim().split("\n")).toHaveLength(4);
});

test("an answer that is lost on its way does not propose twice", async () => {
  const { client, requests } = await connected([lost, answering(504)]);
  const change = await client.post("/api/product/propose", { body: CONFIG });
  expect(change.status).toBe("pending_consent");
  expect((await client.get("/api/product/runtime")).total).toBe(1);
  const keys = requests.map(({ headers }) => headers.get("idempotency-key"));
  expect(keys.slice(0, 3)).toEqual(Array(3).fill(keys[0]));
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[3]).toBeNull();
  await client.post("/api/product/propose", { body: CONFIG });
  expect(requests.at(-1)!.headers.get("idempotency-key")).not.toBe(keys[0]);
});

test("an answer that breaks off is asked for again, and is no success where it always does", async () => {
  const { client, requests } = await connected([brokenOff]);
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  expect(requests).toHaveLength(2);
  expect((await client.get("/api/product/runtime")).total).toBe(1);
  const { client: cut } = await connected([brokenOff, brokenOff, brokenOff]);
  const error = await refused(cut.get("/api/state"));
  expect(error).toMatchObject({ code: "unreachable", message: `${BASE} cannot be reached: other side closed` });
  const { client: waiting } = await connected([brokenOff, brokenOff, brokenOff]);
  expect((await refused(waiting.waitForDecision(change_id))).code).toBe("unreachable");
});

test("TLS that fails is reported in a word", async () => {
  const cause = Object.assign(new Error("805C:error:0A00010B:SSL routines:\n"), {
    code: "ERR_SSL_WRONG_VERSION_NUMBER",
  });
  const { client } = await connected(
    [() => Promise.reject(new TypeError("fetch failed", { cause }))],
    {},
    { attempts: 1 },
  );
  const { message } = await refused(client.get("/api/state"));
  expect(message).toBe(`${BASE} cannot be reached: ERR_SSL_WRONG_VERSION_NUMBER`);
});

test("a caller's own key is kept", async () => {
  const { client, requests } = await connected();
  const params = { header: { "Idempotency-Key": "job-17" } };
  const [first, second] = [
    await client.post("/api/product/propose", { body: CONFIG, params }),
    await client.post("/api/product/propose", { body: CONFIG, params }),
  ];
  expect(second).toEqual(first);
  expect(requests[0]!.headers.get("idempotency-key")).toBe("job-17");
});

const OURS = { error: "no", status: 503, request_id: "r1" };

test.each<[string, Fate, number]>([
  ["no answer", unreachable, 250],
  ["a gateway's 502", answering(502), 250],
  ["a gateway's 504", answering(504), 250],
  ["a 503 of something in between", answering(503), 250],
  ["a 429 that says when", answering(429, "", { "retry-after": "7" }), 7000],
  ["a store that is busy", answering(503, { ...OURS, code: "store_busy" }, { "retry-after": "1" }), 1000],
])("%s is tried again", async (_, fate, pause) => {
  const { client, pauses } = await connected([fate]);
  expect((await client.post("/api/product/propose", { body: CONFIG })).status).toBe("pending_consent");
  expect(pauses).toEqual([pause]);
});

test.each<[string, Fate, Partial<CountersignError>]>([
  ["a host product that failed", answering(502, { ...OURS, code: "adapter_failed" }), { code: "adapter_failed" }],
  ["a broken chain", answering(503, { ...OURS, code: "chain_broken" }), { code: "chain_broken", request_id: "r1" }],
  ["a pause that is too long", answering(503, "", { "retry-after": "3600" }), { code: "unexpected_answer" }],
  ["a page of something else", answering(404), { code: "unexpected_answer", status: 404 }],
])("%s is reported at once", async (_, fate, reported) => {
  const { client, requests } = await connected([fate]);
  expect(await refused(client.post("/api/product/propose", { body: CONFIG }))).toMatchObject(reported);
  expect(requests).toHaveLength(1);
});

test("a write that no key protects is never sent twice", async () => {
  const { client, requests } = await connected([lost]);
  const error = await refused(client.post("/api/chat", { body: { message: "hello" } }));
  expect(error).toMatchObject({ code: "unreachable", status: 0 });
  expect(error.message).toBe(`${BASE} cannot be reached: other side closed`);
  expect(requests).toHaveLength(1);
});

test("after the last attempt the last failure is reported, and pauses grow", async () => {
  const { client, requests, pauses } = await connected(Array(5).fill(unreachable), {}, { attempts: 4, capMs: 1500 });
  expect(await refused(client.get("/api/state"))).toMatchObject({ code: "unreachable", cause: expect.any(TypeError) });
  expect(requests).toHaveLength(4);
  expect(pauses).toEqual([250, 500, 750]);
});

test("a refusal names its code, its field and its request", async () => {
  const { client } = await connected();
  const error = await refused(client.post("/api/product/propose", { body: { ...CONFIG, affected_users: -1 } }));
  expect(error).toMatchObject({ code: "invalid_field", status: 400, field: "affected_users" });
  expect(error.request_id).toBe(error.details["request_id"]);
  expect(error.message).toContain("affected_users");
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  const early = await refused(client.post("/api/product/apply", { body: { change_id } }));
  expect(early).toMatchObject({ code: "illegal_transition", details: { current_status: "pending_consent" } });
});

test("a success that is no JSON is not taken for one", async () => {
  const { client } = await connected([answering(200)]);
  expect(await refused(client.get("/api/state"))).toMatchObject({ code: "unexpected_answer", status: 200 });
});

test("an abort ends a call and its pause with the reason that was given", async () => {
  const { client } = await connected([unreachable], {}, { pause: (_, signal) => waitingFor(signal) });
  const reason = new Error("enough");
  const controller = new AbortController();
  const call = client.get("/api/state", { signal: controller.signal });
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
});

const waitingFor = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });

test("the platform's own pause ends with the signal too", async () => {
  const never = () => Promise.reject(new TypeError("fetch failed"));
  const client = createClient({ baseUrl: BASE, fetch: never, retry: { baseMs: 1e6, capMs: 1e6, random: () => 1 } });
  const controller = new AbortController();
  const call = client.get("/api/state", { signal: controller.signal });
  setImmediate(() => controller.abort());
  await expect(call).rejects.toMatchObject({ name: "AbortError" });
});

test("waits until a change is decided, also where the service holds nothing back", async () => {
  const { client } = await connected();
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  const asked: string[] = [];
  const pausing = createClient({
    baseUrl: BASE,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      if (asked.push(`${search} ${request.headers.get("if-none-match")}`) === 3)
        await client.post("/api/product/deny", { body: { change_id, approver: "ana" } });
      expect(pathname).toBe(`/governance/api/product/changes/${change_id}`);
      return Response.json(await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } }));
    },
    retry: { pause: async () => undefined },
  });
  expect((await pausing.waitForDecision(change_id)).status).toBe("denied");
  expect(asked).toEqual([" null", '?wait=50 "1"', '?wait=50 "1"']);
});

test("a service that is away meanwhile ends no waiting, and one that knows no such change does", async () => {
  const { client: ana } = await connected();
  const { change_id } = await ana.post("/api/product/propose", { body: CONFIG });
  const read = async () =>
    Response.json(await ana.get("/api/product/changes/{change_id}", { params: { path: { change_id } } }));
  const gone = answering(404, { error: "no", code: "change_not_found", status: 404 });
  const { client: lost } = await connected([read, gone]);
  expect((await refused(lost.waitForDecision(change_id))).status).toBe(404);
  const fates: Fate[] = [read, ...Array<Fate>(6).fill(unreachable), answering(502), answering(502), answering(502)];
  const decided: Fate = async () => {
    await ana.post("/api/product/deny", { body: { change_id, approver: "ana" } });
    return read();
  };
  const { client, requests } = await connected([...fates, decided]);
  expect((await client.waitForDecision(change_id)).status).toBe("denied");
  expect(requests).toHaveLength(fates.length + 1);
});

test("a change that was decided already is not waited for, and waiting ends with its signal", async () => {
  const { client, requests } = await connected();
  const { change_id } = await client.post("/api/product/propose", { body: CONFIG });
  await expect(client.waitForDecision(change_id, { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  await client.post("/api/product/approve", { body: { change_id, approver: "ana" } });
  requests.length = 0;
  expect((await client.waitForDecision(change_id)).status).toBe("approved");
  expect(requests).toHaveLength(1);
  expect(await refused(client.waitForDecision("chg_none"))).toMatchObject({ code: "change_not_found" });
});

test("a redirect is followed nowhere, so that no other origin gets the token", async () => {
  const asked: unknown[] = [];
  const elsewhere = await listen((request, response) => {
    asked.push(request.headers);
    response.end("{}");
  });
  const here = await listen((_, response) => response.writeHead(307, { location: `${elsewhere.url}/api/state` }).end());
  try {
    const client = createClient({ baseUrl: here.url, headers: { "X-Svc-Admin-Token": "a-token-of-tests" } });
    expect(await refused(client.get("/api/state"))).toMatchObject({ code: "unexpected_answer", status: 307 });
    expect(asked).toEqual([]);
  } finally {
    for (const { server } of [here, elsewhere]) server.close();
  }
});

async function listen(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
