/** Tests the release gate by POST: who may call it, which claims a CI token needs, and which answers are recorded in the log. */
import { describe, expect, test } from "vitest";
import type { JWTPayload } from "jose";
import { gateTokenVerifier, readGateIssuers } from "../../lib/identity/gate_issuers.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { gateAdapter } from "../../lib/targets/gate.ts";
import { testClock } from "../support/clock.ts";
import type { TestOptions } from "../support/deps.ts";
import { openDeps } from "../support/deps.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { service, type TestService } from "../support/service.ts";
import { keyServer, NOW_S, publicJwk, signedToken } from "../support/token_issuer.ts";

const [X, Y] = ["a".repeat(40), "b".repeat(40)] as const;
const TARGET = "deploy/42/production";
const ADMIN = "an-admin-token-of-tests";
const ISSUER = "https://token.actions.githubusercontent.com";
const CLAIMS = { head: "sha", environment: "environment", repository_id: "repository_id" };
const ISSUERS = {
  issuers: [
    {
      issuer: ISSUER,
      audience: "countersign",
      jwks_url: `${ISSUER}/.well-known/jwks`,
      algorithms: ["RS256"],
      claims: CLAIMS,
    },
  ],
};
const TOKEN_CLAIMS = {
  iss: ISSUER,
  aud: "countersign",
  sub: "repo:acme/shop:environment:production",
  exp: NOW_S + 300,
  sha: X,
  environment: "production",
  repository_id: "42",
  run_id: "177",
};

const token = (overrides: JWTPayload = {}, kid = "ci", signedBy = kid) =>
  signedToken({ ...TOKEN_CLAIMS, ...overrides }, { kid, alg: "RS256" }, signedBy);

async function withIssuer(options: TestOptions = {}): Promise<TestService> {
  const clock = testClock();
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("ci", "RS256")] }));
  return service({
    clock,
    adminToken: ADMIN,
    gateTokens: gateTokenVerifier(readGateIssuers(JSON.stringify(ISSUERS)), { clock, fetch }),
    targets: [
      { name: "deploys", match: ["deploy/*"], adapter: gateAdapter("deploys") },
      { name: "rest", match: ["*"], adapter: scriptedAdapter() },
    ],
    ...options,
  });
}

const admin = { "x-svc-admin-token": ADMIN };
const bearer = async (overrides: JWTPayload = {}) => ({ authorization: `Bearer ${await token(overrides)}` });
const ask = (api: TestService, headers: HeadersInit, fields: object = {}) =>
  api.post("/api/gate", { target: TARGET, tenant_id: "t1", head: X, ...fields }, headers);

async function release(api: TestService, head: string, status: "pending_consent" | "approved" = "approved") {
  const value = JSON.stringify({ repository_id: 42, environment: "production", head });
  const fields = { tenant_id: "t1", kind: "config", target: TARGET, summary: "Release", value };
  const { change_id } = (await api.post("propose", fields, admin)).body;
  if (status === "approved") await api.act("approve", change_id, admin);
  return change_id as string;
}

const checks = async (api: TestService) =>
  (await api.audit()).filter(({ event_type }) => event_type === "release_checked");

test("an answer is recorded once for each caller, head and state", async () => {
  const api = await withIssuer();
  const pending = await release(api, X, "pending_consent");
  for (let i = 0; i < 3; i++) {
    expect((await ask(api, await bearer())).body).toMatchObject({ state: "waiting", change_id: pending });
    expect((await ask(api, admin)).body.state).toBe("waiting");
  }
  await api.act("approve", pending, admin);
  const allowed = await ask(api, await bearer(), { answer: "status" });
  expect([allowed.status, allowed.body]).toEqual([
    200,
    { state: "allowed", allowed: true, change_id: pending, page: null, reasons: [] },
  ]);
  await ask(api, await bearer({ sub: "repo:acme/shop:ref:refs/heads/main" }));
  // A later run of the same job is the same caller.
  await ask(api, await bearer({ run_id: "178" }));
  const entries = await checks(api);
  const facts = entries.map(({ change_id, tenant, detail }) => ({ change_id, tenant, ...JSON.parse(detail) }));
  const { digest } = await api.change(pending);
  const common = {
    change_id: pending,
    tenant: "t1",
    target: TARGET,
    head: X,
    digest,
    actor: null,
    authenticated: null,
  };
  const caller = { iss: ISSUER, sub: TOKEN_CLAIMS.sub, run_id: "177" };
  const reasons = [`${pending} waits for 1 more consent (required_approvers)`];
  expect(facts).toMatchObject([
    { ...common, status: "pending_consent", state: "waiting", reasons, caller },
    { ...common, status: "pending_consent", state: "waiting", reasons },
    { ...common, status: "approved", state: "allowed", reasons: [], caller },
    { ...common, state: "allowed", caller: { sub: "repo:acme/shop:ref:refs/heads/main" } },
  ]);
  expect(facts[1]).not.toHaveProperty("caller");
  expect(await api.change(pending)).toMatchObject({ status: "approved", approver: "ana" });
  expect((await api.act("apply", pending, admin)).status).toBe(200);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
});

test("a recorded answer does not make the revision that an approver saw outdated", async () => {
  const api = await withIssuer();
  const id = await release(api, X, "pending_consent");
  const decide = (action: "approve" | "apply", revision: number) =>
    api.act(action, id, { ...admin, "if-match": `"${revision}"` }).then(({ status }) => status);
  const { revision } = await api.change(id);
  await ask(api, admin);
  await ask(api, await bearer());
  // Each recorded answer raises the revision. The one before both of them is accepted; no older and no future one is.
  expect((await api.change(id)).revision).toBe(revision + 2);
  expect(await decide("approve", revision - 1)).toBe(412);
  expect(await decide("approve", revision + 3)).toBe(412);
  expect(await decide("approve", revision)).toBe(200);
  const approved = (await api.change(id)).revision;
  await ask(api, admin);
  expect(await decide("apply", approved - 1)).toBe(412);
  expect(await decide("apply", approved)).toBe(200);
});

test("nothing is recorded if no change releases the head, or for a GET", async () => {
  const api = await withIssuer();
  expect((await ask(api, admin)).body).toMatchObject({ state: "refused", change_id: null });
  await release(api, X);
  await api.get(`/api/gate?target=${TARGET}&tenant_id=t1&head=${X}`);
  expect(await checks(api)).toEqual([]);
  await ask(api, await bearer({ sha: Y }), { head: Y });
  expect(await checks(api)).toEqual([]);
});

describe("a caller without the admin token must hold a valid token for exactly this release", () => {
  test.each<[string, JWTPayload]>([
    ["another commit", { sha: Y }],
    ["another environment", { environment: "staging" }],
    ["another spelling of the environment", { environment: "Production" }],
    ["another repository", { repository_id: "43" }],
    ["no commit", { sha: undefined }],
    ["no environment", { environment: undefined }],
    ["another audience", { aud: "other" }],
    ["another issuer", { iss: "https://gitlab.example" }],
    ["an expired token", { exp: NOW_S - 60 }],
    ["no expiry", { exp: undefined! }],
    ["a list as commit", { sha: [X] as unknown as string }],
  ])("%s is 401", async (_, overrides) => {
    const api = await withIssuer();
    await release(api, X);
    const reply = await ask(api, await bearer(overrides));
    expect(reply).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(reply.headers.get("www-authenticate")).toContain("Bearer");
    expect(await checks(api)).toEqual([]);
  });

  test.each<[string, () => Promise<HeadersInit>]>([
    ["no credential", async () => ({})],
    ["a wrong admin token", async () => ({ "x-svc-admin-token": "wrong" })],
    ["a wrong admin token, and a valid token", async () => ({ "x-svc-admin-token": "wrong", ...(await bearer()) })],
    ["a token of another key", async () => ({ authorization: `Bearer ${await token({}, "ci", "other")}` })],
    ["an agent's secret", async () => ({ authorization: "Bearer agents-secret" })],
    ["no token at all", async () => ({ authorization: "Bearer" })],
  ])("%s is 401", async (_, headers) => {
    const api = await withIssuer();
    expect((await ask(api, await headers())).status).toBe(401);
  });

  test("a repository id may be a number in the token", async () => {
    const api = await withIssuer();
    expect((await ask(api, await bearer({ repository_id: 42 }))).status).toBe(200);
  });
});

test("a token with a repository or an environment is rejected for a target without them", async () => {
  const clock = testClock();
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("ci", "RS256")] }));
  const withClaims = (claims: object) =>
    gateTokenVerifier(readGateIssuers(JSON.stringify({ issuers: [{ ...ISSUERS.issuers[0], claims }] })), {
      clock,
      fetch,
    });
  const targets = [{ name: "runs", match: ["terraform/*"], adapter: gateAdapter("runs") }];
  for (const [claims, status] of [
    [CLAIMS, 401],
    [{ head: "sha" }, 200],
  ] as const) {
    const api = await withIssuer({ clock, targets, gateTokens: withClaims(claims) });
    expect((await ask(api, await bearer(), { target: "terraform/ws-1" })).status).toBe(status);
  }
});

describe("without an admin token", () => {
  const digest = portableSha256("secret");
  const principals = {
    "agent:own": { kind: "agent", token_sha256: digest, may: { read: "own" } },
    "agent:all": { kind: "agent", token_sha256: portableSha256("secret-of-all") },
  };
  const own = { authorization: "Bearer secret" };
  const all = { authorization: "Bearer secret-of-all" };
  const askByBothMethods = (api: TestService, headers: HeadersInit) =>
    Promise.all([ask(api, headers), api.get(`/api/gate?target=${TARGET}&tenant_id=t1&head=${X}`, headers)]);
  const bare = { adminToken: undefined };

  test("with issuers only a valid CI token without other credentials is accepted", async () => {
    const api = await withIssuer({ ...bare, intent: { principals } });
    for (const headers of [{}, own, all, { "x-svc-admin-token": "any", ...(await bearer()) }])
      expect((await ask(api, headers)).status).toBe(401);
    expect((await ask(api, await bearer())).status).toBe(200);
  });

  test.each([true, false])(
    "a POST answers the same callers as a GET; reads are protected: %s",
    async (protectReads) => {
      const readToken = "a-read-token-of-tests";
      const api = await withIssuer({ ...bare, gateTokens: undefined, intent: { principals }, protectReads, readToken });
      for (const [headers, status] of [
        [{}, protectReads ? 401 : 200],
        [own, 403],
        [all, 200],
        [{ "x-svc-read-token": readToken }, 200],
        [{ authorization: "Bearer of-nobody" }, 401],
      ] as const)
        expect((await askByBothMethods(api, headers)).map((reply) => reply.status)).toEqual([status, status]);
    },
  );
});

test("a CI token is rejected by every other endpoint", async () => {
  const agents = { principals: { "agent:ci": { kind: "agent", token_sha256: "0".repeat(64) } } };
  const api = await withIssuer({ intent: agents, protectReads: true });
  const headers = await bearer();
  expect((await api.get(`/api/gate?target=${TARGET}&tenant_id=t1&head=${X}`, headers)).status).toBe(401);
  for (const path of ["propose", "approve", "apply", "freeze"])
    expect([path, (await api.post(path, {}, headers)).status]).toEqual([path, 401]);
  expect((await ask(api, headers)).status).toBe(200);
});

test("invalid fields are reported before authorization; the answer to a wrong token is delayed", async () => {
  let waited = 0;
  const api = await withIssuer({ pause: async () => void waited++ });
  expect((await ask(api, {}, { head: "x" })).body).toMatchObject({ code: "invalid_field" });
  expect((await ask(api, {}, { target: "ui.banner" })).body).toMatchObject({ code: "no_target_system" });
  expect((await ask(api, {}, { other: "1" })).body).toMatchObject({ code: "invalid_field" });
  expect(waited).toBe(0);
  await ask(api, await bearer({ sha: Y }));
  expect(waited).toBe(1);
});

test("with a broken log the gate is 503", async () => {
  const api = await withIssuer();
  await release(api, X);
  api.deps.integrity.breach = { first_invalid: 1, reason: "an entry was edited" };
  expect(await ask(api, admin)).toMatchObject({ status: 503, body: { code: "chain_broken" } });
});

describe("the file of --gate-issuers", () => {
  const [issuer] = ISSUERS.issuers;
  test.each<[string, unknown, string]>([
    ["no JSON", "{", "is not valid JSON"],
    ["no issuers", {}, "issuers is required"],
    ["an empty list", { issuers: [] }, "issuers must name an issuer"],
    ["a field that does not exist", { issuers: [{ ...issuer, kind: 1 }] }, "issuers.0 has an unknown field: kind"],
    [
      "another claim",
      { issuers: [{ ...issuer, claims: { actor: "actor" } }] },
      "issuers.0.claims has an unknown field",
    ],
    ["no audience", { issuers: [{ ...issuer, audience: undefined }] }, "issuers.0.audience"],
    ["a shared secret", { issuers: [{ ...issuer, algorithms: ["HS256"] }] }, "issuers.0.algorithms.0 must be among"],
    [
      "keys over http",
      { issuers: [{ ...issuer, jwks_url: "http://a.example/k" }] },
      "issuers.0.jwks_url must be an https",
    ],
    ["an issuer twice", { issuers: [issuer, issuer] }, `issuers: ${ISSUER} is listed twice`],
  ])("%s is rejected", (_, file, message) => {
    const text = typeof file === "string" ? file : JSON.stringify(file);
    expect(() => readGateIssuers(text)).toThrow(message);
  });

  const withoutSha = { issuers: [{ ...issuer, claims: { ...CLAIMS, head: undefined } }] };
  const verifier = gateTokenVerifier(readGateIssuers(JSON.stringify(withoutSha)), { clock: testClock() });
  const gate = (match: string[]) => ({ targets: [{ name: "gate", match, adapter: gateAdapter("gate") }] });
  test.each<[string, TestOptions]>([
    ["every target", {}],
    ["every target of one adapter", { adapter: scriptedAdapter() }],
    ["deployments", gate(["deploy/42/*"])],
    ["a pattern that deployments match", gate(["dep*"])],
    ["one deployment", gate(["terraform/*", "Deploy/42/production"])],
  ])("a start fails if an issuer does not map the head and the gate covers %s", async (_, options) => {
    await expect(openDeps({ ...options, gateTokens: verifier })).rejects.toThrow("must map claims.head");
  });

  test("an issuer for targets of other tools needs no claim of the head", async () => {
    const other = { ...gate(["terraform/*", "deployments"]), gateTokens: verifier };
    await expect(openDeps(other)).resolves.toBeDefined();
  });
});
