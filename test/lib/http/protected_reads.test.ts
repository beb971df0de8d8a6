/** Protected reads need a valid credential. */
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

const openProtected = (options: TestOptions = {}) =>
  service({ intent, adminToken: ADMIN, readToken: READ, identityHeader: "x-person", protectReads: true, ...options });

// The endpoints of release gates verify the credentials of their callers themselves.
test("the public endpoints are those of the specification", () => {
  const open = endpoints.filter((endpoint) => endpoint.open && endpoint !== gateCheck && endpoint !== gateGithub);
  expect(open.map(({ path }) => path)).toEqual(OPEN);
});

const fillPath = (path: string) => path.replace(/:[a-z_]+/, "x");
const VALID_CREDENTIALS: [string, HeadersInit][] = [
  ["the admin token", { "x-svc-admin-token": ADMIN }],
  ["the read token in its header", { "x-svc-read-token": READ }],
  ["the read token as a bearer", { authorization: `Bearer ${READ}` }],
  ["an agent's secret", { authorization: `Bearer ${AGENT}` }],
  ["a person whom the proxy names", { "x-person": "ana" }],
];
const INVALID_CREDENTIALS: [string, HeadersInit][] = [
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
    const api = await openProtected();
    for (const [credential, headers] of VALID_CREDENTIALS) {
      // HEAD, since the body of the stream of events has no end; "x" names no record, so other errors than 401 are expected.
      const response = await api.send(new Request(`${api.origin}${fillPath(path)}`, { headers, method: "HEAD" }));
      expect(response.status, credential).not.toBe(401);
    }
    // The same error for every credential, so that it reveals nothing. It contains the id of the request.
    let firstError: string | undefined;
    for (const [credential, headers] of INVALID_CREDENTIALS) {
      const reply = await api.get(fillPath(path), { "x-request-id": "same", ...headers });
      expect(reply, credential).toMatchObject({ status: 401, body: { code: "unauthorized" } });
      expect(reply.text, credential).toBe((firstError ??= reply.text));
      expect(reply.headers.get("www-authenticate")).toContain("Bearer");
    }
  });
});

// The two paths of a witness are 404 without watched logs.
test.each(OPEN.filter((path) => !path.endsWith("checkpoint")))(
  "GET %s is public, with any or no credential",
  async (path) => {
    const api = await openProtected();
    for (const [credential, headers] of INVALID_CREDENTIALS)
      expect((await api.get(path, headers)).status, credential).toBe(200);
  },
);

test("the API's description contains the KPIs of the intent only if reads are open", async () => {
  const kpis = { layoffs_q3: { baseline: 1, target: 0 } };
  for (const path of ["/openapi.json", "/docs"]) {
    const api = await openProtected({ intent: { ...intent, kpis } });
    expect((await api.get(path)).text).not.toContain("layoffs_q3");
    expect((await api.get(path, { "x-svc-read-token": READ })).text).not.toContain("layoffs_q3");
    expect((await (await service({ intent: { kpis } })).get(path)).text).toContain("layoffs_q3");
  }
});

test("a read token allows no write", async () => {
  const api = await openProtected({ identityHeader: undefined });
  for (const { path } of endpoints.filter(({ method, token }) => method === "POST" && token === true))
    for (const headers of [{ "x-svc-read-token": READ }, { authorization: `Bearer ${READ}` }])
      expect((await api.post(path, {}, headers as HeadersInit)).status, path).toBe(401);
});

test("an unknown bearer is 401 if a read token is configured, also if reads are open", async () => {
  const api = await service({ readToken: READ });
  expect((await api.get("intent")).status).toBe(200);
  expect((await api.get("intent", { authorization: "Bearer x" })).status).toBe(401);
  expect((await api.get("intent", { authorization: "Bearer x", "x-svc-read-token": READ })).status).toBe(200);
});

test("without protection reads need no credential", async () => {
  const api = await openProtected({ protectReads: false });
  // The others need fields, or a stored record; the stream of events has no end.
  for (const path of READS.filter((pattern) => !/:|proof|pack|policy|gate|events|search/.test(pattern)))
    expect((await api.get(path)).status, path).toBe(200);
});
