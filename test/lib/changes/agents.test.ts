/**
 * Agents can propose and withdraw in their own name, feed samples, call MCP and read, and nothing else, also if an adversary has
 * an agent's secret.
 */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../../handlers/index.ts";
import { isWrite } from "../../../lib/http/admission.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { TestOptions } from "../../support/deps.ts";
import { GET_PATHS } from "../../support/get_paths.ts";
import { service, type TestService } from "../../support/service.ts";

const SECRET = "an agent's own secret";
const ADMIN = "correct horse battery staple";
const principals = {
  "ana@acme.example": { kind: "person" },
  "agent:pricing": { kind: "agent", token_sha256: portableSha256(SECRET) },
  robo: { kind: "agent", token_sha256: portableSha256("another secret") },
};
const AS_AGENT = { authorization: `Bearer ${SECRET}` };
const AS_ROBO = { authorization: "bearer another secret" };
const WITH_TOKEN = { "x-svc-admin-token": ADMIN };

const openService = ({ intent = {}, ...options }: TestOptions = {}): Promise<TestService> =>
  service({ intent: { principals, ...intent }, ...options });
const proposeAsAgent = async (api: TestService, fields: object = {}, headers: object = AS_AGENT) =>
  (await api.post("propose", { ...PROPOSAL, ...fields }, headers as HeadersInit)).body;
const newestDetail = async (api: TestService) => JSON.parse((await api.audit()).at(-1).detail);

/** Paths of writes that need a credential. */
const WRITES = endpoints.filter((endpoint) => isWrite(endpoint) && !endpoint.open).map(({ path }) => path);
const OPEN_TO_AGENTS = ["/api/product/propose", "/api/product/samples", "/api/product/withdraw", "/mcp"];

describe("every write endpoint, called with an agent's secret", () => {
  test("only proposals, samples, withdrawals and MCP are open to agents", () => {
    const open = endpoints.filter(({ agents }) => agents).map(({ path }) => path);
    expect(open.sort()).toEqual(OPEN_TO_AGENTS);
  });

  describe.each([
    ["without other credentials", {}],
    ["with the admin token as well", WITH_TOKEN],
    ["with a person whom the proxy names", { "x-person": "ana@acme.example" }],
    ["with the admin token and a person whom the proxy names", { ...WITH_TOKEN, "x-person": "ana@acme.example" }],
  ])("%s", (_, extra) => {
    test.each(WRITES.filter((path) => !OPEN_TO_AGENTS.includes(path)))(
      "POST %s is rejected with agent_may_not, and nothing is written",
      async (path) => {
        const api = await openService({ adminToken: ADMIN, identityHeader: "x-person" });
        const { change_id } = await proposeAsAgent(api);
        const before = await api.audit();
        const bodies = [
          {},
          { change_id, approver: "ana@acme.example" },
          { ...FOLLOWUP },
          { csat: 1 },
          { message: "hi" },
        ];
        for (const body of bodies) {
          const reply = await api.post(path, body, { ...AS_AGENT, ...extra } as HeadersInit);
          expect(reply).toMatchObject({ status: 403, body: { code: "agent_may_not", agent: "agent:pricing" } });
        }
        expect(await api.audit()).toEqual(before);
        for (const collection of ["tasks", "chat", "actions"] as const)
          expect(await api.deps.store.list(collection, { limit: 1 }), collection).toEqual([]);
      },
    );

    test("the agent proposes and withdraws in its own name", async () => {
      const api = await openService({ adminToken: ADMIN, identityHeader: "x-person" });
      const headers = { ...AS_AGENT, ...extra };
      const { change_id, proposer } = await proposeAsAgent(api, {}, headers);
      expect(proposer).toBe("agent:pricing");
      expect(await newestDetail(api)).toMatchObject({ actor: "agent:pricing", authenticated: "agent" });
      expect((await api.post("withdraw", { change_id }, headers as HeadersInit)).body.status).toBe("denied");
    });
  });

  test("the agent can read everything by default", async () => {
    const api = await openService({ adminToken: ADMIN });
    // The paths left out need an existing change, file or entry.
    for (const path of GET_PATHS.filter((path) => !/CHANGE|FILE|proof/.test(path)))
      expect((await api.get(path, AS_AGENT)).status, path).toBe(200);
  });

  test("the agent can propose where anonymous writes are not allowed", async () => {
    const api = await openService({ allowAnonymousWrites: false });
    expect((await proposeAsAgent(api)).status).toBe("pending_consent");
    expect((await api.post("propose", PROPOSAL)).status).toBe(401);
  });
});

describe("an agent's name", () => {
  test("is shown on the change, with its kind and authentication", async () => {
    const api = await openService();
    const change = await proposeAsAgent(api);
    expect(change).toMatchObject({ proposer: "agent:pricing", proposer_kind: "agent" });
    expect(await newestDetail(api)).toMatchObject({
      proposer: "agent:pricing",
      proposer_kind: "agent",
      actor: "agent:pricing",
      authenticated: "agent",
    });
    expect(await api.change(change.change_id)).toMatchObject({ proposer_kind: "agent" });
    expect((await api.get("approvals")).body.pending).toMatchObject([{ proposer_kind: "agent" }]);
    expect((await api.get("runtime")).body.changes).toMatchObject([{ proposer_kind: "agent" }]);
  });

  test("is the only name the agent may propose under", async () => {
    const api = await openService();
    const propose = (proposer: string) => api.post("propose", { ...PROPOSAL, proposer }, AS_AGENT);
    expect((await propose("Agent:Pricing ")).body.proposer).toBe("agent:pricing");
    for (const other of ["ana@acme.example", "robo", "agent:other", "bo"])
      expect(await propose(other), other).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
    expect(await api.steps()).toHaveLength(1);
  });

  test("cannot be used by others if the intent names principals", async () => {
    const api = await openService({ adminToken: ADMIN });
    const { change_id } = await proposeAsAgent(api);
    for (const proposer of ["agent:pricing", "ROBO", "agent:unheard-of"]) {
      const rejection = { status: 403, body: { code: "identity_mismatch" } };
      expect(await api.post("propose", { ...PROPOSAL, proposer }, WITH_TOKEN), proposer).toMatchObject(rejection);
      expect(await api.post("propose-crm-followup", { ...FOLLOWUP, proposer }, WITH_TOKEN)).toMatchObject(rejection);
    }
    const withdrawn = await api.post("withdraw", { change_id, proposer: "agent:pricing" }, WITH_TOKEN);
    expect(withdrawn).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
    expect((await api.change(change_id)).status).toBe("pending_consent");
    const behindProxy = await openService({ identityHeader: "x-person" });
    expect(await behindProxy.post("propose", PROPOSAL, { "x-person": "robo" })).toMatchObject({
      status: 403,
      body: { code: "identity_mismatch" },
    });
  });

  test("is accepted without proof if the intent names no principals", async () => {
    const api = await service();
    const { proposer_kind, status } = await api.propose({ proposer: "agent:pricing" });
    expect([proposer_kind, status]).toEqual(["agent", "pending_consent"]);
    expect((await api.post("propose", PROPOSAL, AS_AGENT)).body.proposer).toBeNull();
  });
});

describe("an agent's consent", () => {
  test.each(["agent:pricing", "Robo", "agent:unheard-of", "ａｇｅｎｔ:x"])("is rejected: %s", async (approver) => {
    const api = await openService();
    const { change_id } = await api.propose();
    for (const action of ["approve", "deny"])
      expect(await api.post(action, { change_id, approver })).toMatchObject({
        status: 403,
        body: { code: "not_an_approver" },
      });
    expect((await api.change(change_id)).status).toBe("pending_consent");
  });

  test("stops counting once the intent declares its approver an agent", async () => {
    const before = await service();
    const { change_id } = await before.propose();
    await before.post("approve", { change_id, approver: "robo" });
    const after = await openService({ store: before.deps.store, clock: before.deps.clock, ids: before.deps.ids });
    expect(await after.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
    const { gates } = await after.change(change_id);
    expect(gates).toContainEqual({ gate: "consent", state: "block", message: "0 of 1 consent" });
  });

  test("is not replaced by the intent: changes of agents are minor only if minor.agents is true", async () => {
    const minor = { kinds: ["config"], targets: ["ui.*"] };
    const minorFields = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
    const tierWithRule = async (rule: object) =>
      (await proposeAsAgent(await openService({ intent: { policy: { minor: rule } } }), minorFields)).tier;
    expect(await tierWithRule(minor)).toBe("standard");
    expect(await tierWithRule({ ...minor, agents: false })).toBe("standard");
    expect(await tierWithRule({ ...minor, agents: true })).toBe("minor");
    const api = await service({ intent: { policy: { minor } } });
    expect((await api.propose({ ...minorFields, proposer: "agent:x" })).tier).toBe("standard");
  });
});

describe("an agent's withdrawal", () => {
  test("is accepted only for the agent's own proposals", async () => {
    const api = await openService();
    const own = await proposeAsAgent(api);
    const robosChange = await proposeAsAgent(api, {}, AS_ROBO);
    const anasChange = await api.propose({ proposer: "ana@acme.example" });
    const anonymous = await api.propose();
    for (const { change_id } of [robosChange, anasChange, anonymous])
      expect(await api.post("withdraw", { change_id }, AS_AGENT)).toMatchObject({
        status: 403,
        body: { code: "not_the_proposer" },
      });
    const { change_id } = own;
    expect((await api.post("withdraw", { change_id, proposer: "ana@acme.example" }, AS_AGENT)).status).toBe(403);
    expect((await api.post("withdraw", { change_id, note: "no need" }, AS_AGENT)).body.decision).toBe("withdrawn");
    expect(await newestDetail(api)).toMatchObject({
      approver: "agent:pricing",
      authenticated: "agent",
      note: "no need",
    });
  });
});

describe("a bearer token", () => {
  const UNKNOWN_TOKEN = { authorization: "Bearer of bad news" };

  test.each([
    "Bearer",
    "Bearer ",
    "Bearer x",
    `Bearer ${portableSha256(SECRET)}`,
    `Bearer ${SECRET}x`,
    `Bearer ${SECRET.slice(1)}`,
    "bEARER ana",
    `Bearer\t${SECRET}`,
    `Bearer ${SECRET}, Bearer ${SECRET}`,
    `Basic YTpi, Bearer ${SECRET}`,
    `Bearer:${SECRET}`,
    `Bearer=${SECRET}`,
    `Bearer"${SECRET}"`,
  ])("%j is rejected with 401 if the intent names agents", async (authorization) => {
    const api = await openService();
    for (const reply of [
      await api.get("intent", { authorization }),
      await api.post("propose", PROPOSAL, { authorization }),
      await api.post("/api/tasks", { title: "t" }, { authorization }),
    ])
      expect(reply).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(await api.audit()).toEqual([]);
  });

  test("is ignored if another credential authenticates the request, or with another scheme", async () => {
    const api = await openService({ adminToken: ADMIN, identityHeader: "x-person" });
    const person = { "x-person": "pat" };
    const propose = (headers: object) => api.post("propose", PROPOSAL, headers as HeadersInit);
    expect((await propose({ ...UNKNOWN_TOKEN, ...WITH_TOKEN, ...person })).body.proposer).toBe("pat");
    expect((await api.get("intent", { ...UNKNOWN_TOKEN, ...person })).status).toBe(200);
    expect((await api.get("intent", { ...UNKNOWN_TOKEN, ...WITH_TOKEN })).status).toBe(200);
    expect((await api.get("intent", { ...UNKNOWN_TOKEN, "x-person": " " })).status).toBe(401);
    for (const authorization of ["Basic YTpi", "Bearers x", "Basic x-bearer y", 'Digest username="bearer x"'])
      expect((await api.get("intent", { authorization })).status).toBe(200);
    // A write needs the admin token, with a person or without.
    expect((await propose({ ...UNKNOWN_TOKEN, ...person })).status).toBe(401);
  });

  test("is ignored if the intent names no agents", async () => {
    expect((await (await service()).post("propose", PROPOSAL, UNKNOWN_TOKEN)).status).toBe(201);
  });

  test("is hashed completely and compared with every agent's hash", async () => {
    const hashed: unknown[] = [];
    const sha256 = (data: string | Uint8Array) => (hashed.push(data), portableSha256(data));
    const api = await openService({ sha256 });
    expect((await proposeAsAgent(api, {}, AS_ROBO)).proposer).toBe("robo");
    expect(hashed).toContain("another secret");
  });
});

test("an agent's stored response is not returned to others with the same Idempotency-Key", async () => {
  const api = await openService();
  const key = { "idempotency-key": "k1" };
  const propose = (headers: object) => api.post("propose", PROPOSAL, { ...key, ...headers } as HeadersInit);
  const first = await propose(AS_AGENT);
  expect((await propose(AS_AGENT)).text).toBe(first.text);
  expect((await propose(AS_ROBO)).body.proposer).toBe("robo");
  expect((await propose({})).body.proposer).toBeNull();
});

test("the entry of a manifest contains the kinds of its principals, without secret hashes", async () => {
  const api = await openService();
  await proposeAsAgent(api);
  const [inForce] = await api.audit();
  expect(JSON.parse(inForce.detail).principals).toEqual({
    "ana@acme.example": { kind: "person", keys: [] },
    "agent:pricing": { kind: "agent", keys: [] },
    robo: { kind: "agent", keys: [] },
  });
});

test("autonomy levels are computed from the authenticated proposers and approvers", async () => {
  const api = await openService({ identityHeader: "x-person" });
  const ana = { "x-person": "ana@acme.example" };
  const decide = async (change: { change_id: string }, headers: HeadersInit) =>
    expect((await api.post("approve", { change_id: change.change_id }, headers)).status).toBe(200);
  await decide(await proposeAsAgent(api), ana);
  await decide(await proposeAsAgent(api, {}, { "x-person": "pat" }), ana);
  const claimed = await openService({ ...api.deps, intent: {}, identityHeader: undefined });
  const patsChange = await claimed.propose({ proposer: "pat" });
  await claimed.post("approve", { change_id: patsChange.change_id, approver: "ana@acme.example" });
  await claimed.post("withdraw", { change_id: (await proposeAsAgent(claimed)).change_id }, AS_AGENT);
  // Ana decided on an agent's proposal (L3) and on Pat's (L1), and under a name that is only claimed (unattributed).
  const { points, totals } = (await claimed.get("/api/l1l5_trend?days=1")).body;
  expect(totals).toEqual({ L1: 1, L2: 0, L3: 1, L4: 0, L5: 0, unattributed: 1 });
  expect(points).toMatchObject([totals]);

  const withoutPrincipals = await service();
  await withoutPrincipals.must("approve", (await withoutPrincipals.propose()).change_id);
  expect((await withoutPrincipals.get("/api/l1l5_trend?days=1")).body.totals).toMatchObject({ L1: 1, unattributed: 0 });
});

test("an agent with the hash of an empty secret is rejected", async () => {
  const emptySecret = { "agent:x": { kind: "agent", token_sha256: portableSha256("") } };
  await expect(service({ intent: { principals: emptySecret } })).rejects.toThrow(
    /token_sha256 is the hash of an empty secret/,
  );
});

test("a proxy user with an agent's name is no agent, and may only read", async () => {
  const api = await openService({ identityHeader: "x-person" });
  const whoami = (await api.get("/api/whoami", { "x-person": "robo" })).body;
  expect(whoami).toMatchObject({ name: null, kind: "unknown", may: ["read"] });
});

test("a wrong bearer token is counted and delayed even with a valid read token", async () => {
  const delays: number[] = [];
  let wrong = 0;
  const api = await openService({
    readToken: "a read token of length",
    adminToken: ADMIN,
    protectAll: false,
    pause: async (ms) => void delays.push(ms),
    onWrongToken: () => wrong++,
  });
  const headers = { "x-svc-read-token": "a read token of length", authorization: "Bearer a guess" };
  await api.post("/api/tasks", { title: "t" }, headers);
  expect([wrong, delays]).toEqual([1, [250]]);
});

test("chat needs the read token if reads are protected", async () => {
  const api = await openService({ readToken: "a read token of length", adminToken: ADMIN, protectReads: true });
  await proposeAsAgent(api, { summary: "HIDDEN" });
  expect((await api.post("/api/chat", { message: "what is pending?" })).status).toBe(401);
  expect(
    (await api.post("/api/chat", { message: "what is pending?" }, { "x-svc-read-token": "a read token of length" }))
      .status,
  ).toBe(200);
});
