/** Guessing a token is slow and seen, and keeps nobody else waiting. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { PROPOSAL } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import type { TestOptions } from "../../support/deps.ts";
import { service } from "../../support/service.ts";

const ADMIN = "correct horse battery staple";
const READ = "a token to read with";
const AGENT = "an agent's own secret";
const principals = { "agent:a": { kind: "agent", token_sha256: portableSha256(AGENT) } };

/** A service whose pauses end when the test says so. */
async function guarded(options: TestOptions = {}) {
  const waits: { ms: number; end: () => void }[] = [];
  const reported: { message: string; fields: unknown }[] = [];
  let wrong = 0;
  const log = {
    info: () => {},
    error: () => {},
    warn: (message: string, fields?: unknown) => void reported.push({ message, fields }),
  };
  const api = await service({
    adminToken: ADMIN,
    readToken: READ,
    intent: { principals },
    log,
    onWrongToken: () => void wrong++,
    pause: (ms) => new Promise((end) => void waits.push({ ms, end: () => end() })),
    ...options,
  });
  return { ...api, waits, told: reported, wrong: () => wrong };
}

/** Resolves when whatever can go on without time passing has gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const WRONG: [string, string, Record<string, string>][] = [
  ["an admin token", "kpi", { "x-svc-admin-token": `${ADMIN}!` }],
  ["an empty admin token", "kpi", { "x-svc-admin-token": "" }],
  ["an agent's secret", "propose", { authorization: `Bearer ${AGENT}!` }],
  ["a read token", "GET intent", { "x-svc-read-token": `${READ}!` }],
  ["a bearer", "GET intent", { authorization: "Bearer x" }],
  ["an admin token where it is asked who one is", "GET /api/whoami", { "x-svc-admin-token": "x" }],
  ["a bearer where it is asked who one is", "GET /api/whoami", { authorization: "Bearer x" }],
  ["an admin token in a chat, which reads", "/api/chat", { "x-svc-admin-token": "x" }],
];

test.each(WRONG)("%s that is wrong is counted, and answered after 250 ms", async (_, asked, headers) => {
  const api = await guarded({ protectReads: true });
  let answered = false;
  const [path, method] = asked.split(" ").reverse() as [string, string?];
  const ask = method ? api.get(path, headers) : api.post(path, { message: "hi", csat: 1 }, headers);
  void ask.then(() => (answered = true));
  await settled();
  expect(api.waits.map(({ ms }) => ms)).toEqual([250]);
  expect([answered, api.wrong()]).toEqual([false, 1]);
  for (const { end } of api.waits) end();
  expect((await ask).status).toBe(path.includes("whoami") ? 200 : 401);
});

test.each<[string, Record<string, string>, number]>([
  ["an agent's secret and a read token", { authorization: "Bearer x", "x-svc-read-token": READ }, 200],
  ["an agent's secret and a person's name", { authorization: "Bearer x", "x-user": "ana" }, 200],
  ["an admin token and an agent's secret", { authorization: `Bearer ${AGENT}`, "x-svc-admin-token": "x" }, 403],
])("over MCP a wrong %s is delayed as well", async (_, wrong, status) => {
  const api = await guarded({ identityHeader: "x-user" });
  const send = (headers: Record<string, string>) =>
    api.send(
      new Request(`${api.origin}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
    );
  const ask = send(wrong);
  await settled();
  expect([api.waits.length, api.wrong()]).toEqual([1, 1]);
  for (const { end } of api.waits) end();
  expect((await ask).status).toBe(status);
  for (const right of [{ authorization: `Bearer ${AGENT}` }, { "x-svc-read-token": READ }, { "x-user": "ana" }, {}])
    expect((await send(right as Record<string, string>)).status).toBe(200);
  expect(api.wrong()).toBe(1);
});

test("while a wrong token is delayed, other requests are answered", async () => {
  const api = await guarded();
  const late = api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x" });
  await settled();
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": ADMIN })).status).toBe(200);
  expect((await api.get("intent")).status).toBe(200);
  api.waits[0]!.end();
  expect((await late).status).toBe(401);
});

test("a missing token is neither delayed nor counted", async () => {
  const api = await guarded({ protectReads: true });
  expect((await api.post("propose", PROPOSAL)).status).toBe(401);
  expect((await api.get("intent")).status).toBe(401);
  expect((await api.get("/api/whoami")).status).toBe(200);
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": ADMIN })).status).toBe(200);
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-read-token": READ })).status).toBe(401);
  expect((await api.post("propose", PROPOSAL, { authorization: `Bearer ${AGENT}` })).status).toBe(201);
  const open = await guarded({ adminToken: "", readToken: "", intent: {} });
  expect((await open.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x", authorization: "Bearer x" })).status).toBe(
    200,
  );
  expect([api.wrong(), api.waits, open.wrong(), open.waits]).toEqual([0, [], 0, []]);
});

test("the log has at most one line a second, with their number and no token", async () => {
  const api = await guarded({ pause: async () => {} });
  const guess = async (times: number) => {
    for (let one = 0; one < times; one++) await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "gue55ed" });
  };
  await guess(3);
  api.deps.clock.advance(SECOND - 1);
  await guess(2);
  api.deps.clock.advance(1);
  await guess(2);
  const of = (requests: number) => ({
    message: "a token was sent that is nobody's",
    fields: { path: "/api/product/kpi", requests },
  });
  expect(api.told).toEqual([of(1), of(5)]);
  expect(api.wrong()).toBe(7);
  expect(JSON.stringify(api.told)).not.toContain("gue55ed");
});

test("by default the host's timer delays the response", async () => {
  const api = await guarded({ pause: undefined });
  const began = performance.now();
  await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x" });
  expect(performance.now() - began).toBeGreaterThan(240);
});

test.each([
  ["a path that is none", 404, "GET /api/product/nothing"],
  ["a method that is none", 405, "GET /api/product/propose"],
] as const)("with a wrong token %s is delayed and counted", async (_, reported, asked) => {
  const api = await guarded();
  const path = asked.slice(4);
  const ask = api.get(path, { authorization: "Bearer x" });
  await settled();
  expect([api.waits.length, api.wrong()]).toEqual([1, 1]);
  for (const { end } of api.waits) end();
  expect((await ask).status).toBe(reported);
  for (const headers of [{}, { authorization: `Bearer ${AGENT}` }] as Record<string, string>[])
    expect((await api.get(path, headers)).status).toBe(reported);
  expect(api.wrong()).toBe(1);
});
