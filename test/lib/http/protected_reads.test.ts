/** Protected reads need a credential: any that the service knows, and no other. */
import { gateCheck } from "../../../handlers/gate_check.ts";
import { gateGithub } from "../../../handlers/gate_github.ts";
import { describe, expect, test } from "vitest";
import { endpoints } from "../../../handlers/index.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { TestOptions } from "../../support/deps.ts";
import { service } from "../../support/service.ts";

const ADMIN = "correct horse battery staple";
const READ = "a token to read with";
const AGENT = "an agent's own secret";
const intent = { principals: { "agent:a": { kind: "agent", token_sha256: portableSha256(AGENT) } } };
const OPEN = [
  "/add-checkpoint",
  "/:origin_hash/checkpoint",
  "/api/whoami",
  "/livez",
  "/readyz",
  "/openapi.json",
  "/docs",
];
const READS = endpoints.filter(({ method }) => method === "GET").map(({ path }) => path);

const guarded = (over: TestOptions = {}) =>
  service({ intent, adminToken: ADMIN, readToken: READ, identityHeader: "x-person", protectReads: true, ...over });

// A question on record judges its caller itself.
test("the public endpoints are those of the specification", () => {
  const open = endpoints.filter((one) => one.open && one !== gateCheck && one !== gateGithub).map(({ path }) => path);
  expect(open).toEqual(OPEN);
});

const addressOf = (path: string) => path.replace(/:[a-z_]+/, "x");
const GOOD: [string, HeadersInit][] = [
  ["the admin token", { "x-svc-admin-token": ADMIN }],
  ["the read token in its header", { "x-svc-read-token": READ }],
  ["the read token as a bearer", { authorization: `Bearer ${READ}` }],
  ["an agent's secret", { authorization: `Bearer ${AGENT}` }],
  ["a person whom the proxy names", { "x-person": "ana" }],
];
const BAD: [string, HeadersInit][] = [
  ["nothing", {}],
  ["the read token in the admin token's header", { "x-svc-admin-token": READ }],
  ["the admin token as a bearer", { authorization: `Bearer ${ADMIN}` }],
  ["half of the read token", { "x-svc-read-token": READ.slice(0, 8) }],
  ["an empty read token", { "x-svc-read-token": "" }],
  ["another scheme", { authorization: `Basic ${READ}` }],
  ["a person without a name", { "x-person": " " }],
];

describe.each(READS.filter((path) => !OPEN.includes(path)))("GET %s", (path) => {
  test("accepts every valid credential, and no wrong one", async () => {
    const api = await guarded();
    for (const [what, headers] of GOOD) {
      const response = await api.send(new Request(`${api.origin}${addressOf(path)}`, { headers, method: "HEAD" }));
      expect(response.status, what).not.toBe(401);
    }
    let first: string | undefined;
    for (const [what, headers] of BAD) {
      const reply = await api.get(addressOf(path), { "x-request-id": "same", ...headers });
      expect(reply, what).toMatchObject({ status: 401, body: { code: "unauthorized" } });
      expect(reply.text, what).toBe((first ??= reply.text));
      expect(reply.headers.get("www-authenticate")).toContain("Bearer");
    }
  });
});

test.each(OPEN.filter((path) => !path.endsWith("checkpoint")))(
  "GET %s is public, with any or no credential",
  async (path) => {
    const api = await guarded();
    for (const [what, headers] of BAD) expect((await api.get(path, headers)).status, what).toBe(200);
  },
);

test("the API's description names no KPI of the intent", async () => {
  const kpis = { layoffs_q3: { baseline: 1, target: 0 } };
  for (const path of ["/openapi.json", "/docs"]) {
    const api = await guarded({ intent: { ...intent, kpis } });
    expect((await api.get(path)).text).not.toContain("layoffs_q3");
    expect((await api.get(path, { "x-svc-read-token": READ })).text).not.toContain("layoffs_q3");
    expect((await (await service({ intent: { kpis } })).get(path)).text).toContain("layoffs_q3");
  }
});

test("a read token allows no write", async () => {
  const api = await guarded({ identityHeader: undefined });
  for (const { path } of endpoints.filter(({ method, token }) => method === "POST" && token === true))
    for (const headers of [{ "x-svc-read-token": READ }, { authorization: `Bearer ${READ}` }])
      expect((await api.post(path, {}, headers as HeadersInit)).status, path).toBe(401);
});

test("an unknown bearer is 401 where there is a read token, also where reads are open", async () => {
  const api = await service({ readToken: READ });
  expect((await api.get("intent")).status).toBe(200);
  expect((await api.get("intent", { authorization: "Bearer x" })).status).toBe(401);
  expect((await api.get("intent", { authorization: "Bearer x", "x-svc-read-token": READ })).status).toBe(200);
});

test("without protection reads need no credential", async () => {
  const api = await guarded({ protectReads: false });
  for (const path of READS.filter((one) => !/:|proof|pack|policy|gate|events|search/.test(one)))
    expect((await api.get(path)).status, path).toBe(200);
});
