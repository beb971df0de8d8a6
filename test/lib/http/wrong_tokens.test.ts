/** Responses to wrong tokens are delayed, counted and logged; other requests are not delayed. */
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

/** Opens a service whose delays end when the test calls `end` of an element of `waits`. */
async function openService(options: TestOptions = {}) {
  const waits: { ms: number; end: () => void }[] = [];
  const warnings: { message: string; fields: unknown }[] = [];
  let wrongTokens = 0;
  const log = {
    info: () => {},
    error: () => {},
    warn: (message: string, fields?: unknown) => void warnings.push({ message, fields }),
  };
  const api = await service({
    adminToken: ADMIN,
    readToken: READ,
    intent: { principals },
    log,
    onWrongToken: () => void wrongTokens++,
    pause: (ms) => new Promise((end) => void waits.push({ ms, end: () => end() })),
    ...options,
  });
  return { ...api, waits, warnings, countWrong: () => wrongTokens };
}

/** Resolves after all work that does not wait for a timer. */
const waitForWork = () => new Promise((resolve) => setImmediate(resolve));

/** Requests are POST where no method is named. */
const WRONG_TOKENS: [token: string, request: string, headers: Record<string, string>][] = [
  ["an admin token", "kpi", { "x-svc-admin-token": `${ADMIN}!` }],
  ["an empty admin token", "kpi", { "x-svc-admin-token": "" }],
  ["an agent's secret", "propose", { authorization: `Bearer ${AGENT}!` }],
  ["a read token", "GET intent", { "x-svc-read-token": `${READ}!` }],
  ["a bearer", "GET intent", { authorization: "Bearer x" }],
  ["an admin token at whoami", "GET /api/whoami", { "x-svc-admin-token": "x" }],
  ["a bearer at whoami", "GET /api/whoami", { authorization: "Bearer x" }],
  ["an admin token in a chat", "/api/chat", { "x-svc-admin-token": "x" }],
];

test.each(WRONG_TOKENS)("%s that is wrong is counted, and answered after 250 ms", async (_, request, headers) => {
  const api = await openService({ protectReads: true });
  let isAnswered = false;
  const [path, method] = request.split(" ").reverse() as [string, string?];
  const reply = method ? api.get(path, headers) : api.post(path, { message: "hi", csat: 1 }, headers);
  void reply.then(() => (isAnswered = true));
  await waitForWork();
  expect(api.waits.map(({ ms }) => ms)).toEqual([250]);
  expect([isAnswered, api.countWrong()]).toEqual([false, 1]);
  for (const { end } of api.waits) end();
  // `whoami` tells every caller what it may do.
  expect((await reply).status).toBe(path.includes("whoami") ? 200 : 401);
});

/** MCP answers 403 to each request with the admin token's header. */
test.each<[credentials: string, headers: Record<string, string>, status: number]>([
  ["a wrong bearer with a valid read token", { authorization: "Bearer x", "x-svc-read-token": READ }, 200],
  ["a wrong bearer with a person's name", { authorization: "Bearer x", "x-user": "ana" }, 200],
  ["a wrong admin token with an agent's secret", { authorization: `Bearer ${AGENT}`, "x-svc-admin-token": "x" }, 403],
])("over MCP %s is delayed as well", async (_, wrongHeaders, status) => {
  const api = await openService({ identityHeader: "x-user" });
  const send = (headers: Record<string, string>) =>
    api.send(
      new Request(`${api.origin}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
    );
  const reply = send(wrongHeaders);
  await waitForWork();
  expect([api.waits.length, api.countWrong()]).toEqual([1, 1]);
  for (const { end } of api.waits) end();
  expect((await reply).status).toBe(status);
  for (const validHeaders of [
    { authorization: `Bearer ${AGENT}` },
    { "x-svc-read-token": READ },
    { "x-user": "ana" },
    {},
  ])
    expect((await send(validHeaders as Record<string, string>)).status).toBe(200);
  expect(api.countWrong()).toBe(1);
});

test("while a wrong token is delayed, other requests are answered", async () => {
  const api = await openService();
  const delayed = api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x" });
  await waitForWork();
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": ADMIN })).status).toBe(200);
  expect((await api.get("intent")).status).toBe(200);
  api.waits[0]!.end();
  expect((await delayed).status).toBe(401);
});

test("requests without a token, or with a valid or unneeded one, are neither delayed nor counted", async () => {
  const api = await openService({ protectReads: true });
  expect((await api.post("propose", PROPOSAL)).status).toBe(401);
  expect((await api.get("intent")).status).toBe(401);
  expect((await api.get("/api/whoami")).status).toBe(200);
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": ADMIN })).status).toBe(200);
  expect((await api.post("kpi", { csat: 1 }, { "x-svc-read-token": READ })).status).toBe(401);
  expect((await api.post("propose", PROPOSAL, { authorization: `Bearer ${AGENT}` })).status).toBe(201);
  const open = await openService({ adminToken: "", readToken: "", intent: {} });
  expect((await open.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x", authorization: "Bearer x" })).status).toBe(
    200,
  );
  expect([api.countWrong(), api.waits, open.countWrong(), open.waits]).toEqual([0, [], 0, []]);
});

test("the log has at most one line a second, with the number of wrong tokens and no token", async () => {
  const api = await openService({ pause: async () => {} });
  const sendWrongTokens = async (times: number) => {
    for (let count = 0; count < times; count++) await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "gue55ed" });
  };
  await sendWrongTokens(3);
  api.deps.clock.advance(SECOND - 1);
  await sendWrongTokens(2);
  api.deps.clock.advance(1);
  await sendWrongTokens(2);
  const warning = (requests: number) => ({
    message: "a token was sent that is nobody's",
    fields: { path: "/api/product/kpi", requests },
  });
  // The first request is logged immediately, and requests 2 to 6 a second later; the seventh waits for the next line.
  expect(api.warnings).toEqual([warning(1), warning(5)]);
  expect(api.countWrong()).toBe(7);
  expect(JSON.stringify(api.warnings)).not.toContain("gue55ed");
});

test("by default the host's timer delays the response", async () => {
  const api = await openService({ pause: undefined });
  const start = performance.now();
  await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "x" });
  expect(performance.now() - start).toBeGreaterThan(240);
});

test.each([
  ["an unknown path", 404, "/api/product/nothing"],
  ["a wrong method", 405, "/api/product/propose"],
] as const)("with a wrong token %s is delayed and counted", async (_, status, path) => {
  const api = await openService();
  const reply = api.get(path, { authorization: "Bearer x" });
  await waitForWork();
  expect([api.waits.length, api.countWrong()]).toEqual([1, 1]);
  for (const { end } of api.waits) end();
  expect((await reply).status).toBe(status);
  for (const headers of [{}, { authorization: `Bearer ${AGENT}` }] as Record<string, string>[])
    expect((await api.get(path, headers)).status).toBe(status);
  expect(api.countWrong()).toBe(1);
});
