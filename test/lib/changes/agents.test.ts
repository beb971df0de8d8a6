/** Agents propose in their own name, withdraw and read. An agent's secret is all that an adversary has here. */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../../handlers/index.ts";
import { isWrite } from "../../../lib/http/admission.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { TestOptions } from "../../support/deps.ts";
import { READS } from "../../support/reads.ts";
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

const opened = ({ intent = {}, ...options }: TestOptions = {}): Promise<TestService> =>
  service({ intent: { principals, ...intent }, ...options });
const proposed = async (api: TestService, fields: object = {}, headers: object = AS_AGENT) =>
  (await api.post("propose", { ...PROPOSAL, ...fields }, headers as HeadersInit)).body;
const detailOf = async (api: TestService) => JSON.parse((await api.audit()).at(-1).detail);

const WRITES = endpoints.filter((one) => isWrite(one) && !one.open).map(({ path }) => path);
const OPEN_TO_AGENTS = ["/api/product/propose", "/api/product/samples", "/api/product/withdraw", "/mcp"];

describe("every write there is, with an agent's secret", () => {
  test("the list of those that are open to agents is the specification's", () => {
    const open = endpoints.filter(({ agents }) => agents).map(({ path }) => path);
    expect(open.sort()).toEqual(OPEN_TO_AGENTS);
  });

  describe.each([
    ["alone", {}],
    ["with the admin token as well", WITH_TOKEN],
    ["with a person whom the proxy names", { "x-person": "ana@acme.example" }],
    ["with both", { ...WITH_TOKEN, "x-person": "ana@acme.example" }],
  ])("%s", (_, extra) => {
    test.each(WRITES.filter((path) => !OPEN_TO_AGENTS.includes(path)))(
      "POST %s is 403 agent_may_not, and nothing is written",
      async (path) => {
        const api = await opened({ adminToken: ADMIN, identityHeader: "x-person" });
        const { change_id } = await proposed(api);
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

    test("it proposes and withdraws in its own name, whatever else the request carries", async () => {
      const api = await opened({ adminToken: ADMIN, identityHeader: "x-person" });
      const headers = { ...AS_AGENT, ...extra };
      const { change_id, proposer } = await proposed(api, {}, headers);
      expect(proposer).toBe("agent:pricing");
      expect(await detailOf(api)).toMatchObject({ actor: "agent:pricing", authenticated: "agent" });
      expect((await api.post("withdraw", { change_id }, headers as HeadersInit)).body.status).toBe("denied");
    });
  });

  test("it reads everything, also where nothing is said of reads", async () => {
    const api = await opened({ adminToken: ADMIN });
    for (const path of READS.filter((path) => !/CHANGE|FILE|proof/.test(path)))
      expect((await api.get(path, AS_AGENT)).status, path).toBe(200);
  });

  test("a host that takes no anonymous writes takes its proposals", async () => {
    const api = await opened({ allowAnonymousWrites: false });
    expect((await proposed(api)).status).toBe("pending_consent");
    expect((await api.post("propose", PROPOSAL)).status).toBe(401);
  });
});

describe("its name", () => {
  test("stands on the change, with its kind and how it is known", async () => {
    const api = await opened();
    const change = await proposed(api);
    expect(change).toMatchObject({ proposer: "agent:pricing", proposer_kind: "agent" });
    expect(await detailOf(api)).toMatchObject({
      proposer: "agent:pricing",
      proposer_kind: "agent",
      actor: "agent:pricing",
      authenticated: "agent",
    });
    expect(await api.change(change.change_id)).toMatchObject({ proposer_kind: "agent" });
    expect((await api.get("approvals")).body.pending).toMatchObject([{ proposer_kind: "agent" }]);
    expect((await api.get("runtime")).body.changes).toMatchObject([{ proposer_kind: "agent" }]);
  });

  test("is the only one it may propose under", async () => {
    const api = await opened();
    const propose = (proposer: string) => api.post("propose", { ...PROPOSAL, proposer }, AS_AGENT);
    expect((await propose("Agent:Pricing ")).body.proposer).toBe("agent:pricing");
    for (const other of ["ana@acme.example", "robo", "agent:other", "bo"])
      expect(await propose(other), other).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
    expect(await api.steps()).toHaveLength(1);
  });

  test("is nobody else's to use, once the intent says who is who", async () => {
    const api = await opened({ adminToken: ADMIN });
    const { change_id } = await proposed(api);
    for (const proposer of ["agent:pricing", "ROBO", "agent:unheard-of"]) {
      const refused = { status: 403, body: { code: "identity_mismatch" } };
      expect(await api.post("propose", { ...PROPOSAL, proposer }, WITH_TOKEN), proposer).toMatchObject(refused);
      expect(await api.post("propose-crm-followup", { ...FOLLOWUP, proposer }, WITH_TOKEN)).toMatchObject(refused);
    }
    const withdrawn = await api.post("withdraw", { change_id, proposer: "agent:pricing" }, WITH_TOKEN);
    expect(withdrawn).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
    expect((await api.change(change_id)).status).toBe("pending_consent");
    const behindProxy = await opened({ identityHeader: "x-person" });
    expect(await behindProxy.post("propose", PROPOSAL, { "x-person": "robo" })).toMatchObject({
      status: 403,
      body: { code: "identity_mismatch" },
    });
  });

  test("is nobody's where the intent names no principals: then names are taken at their word", async () => {
    const api = await service();
    const { proposer_kind, status } = await api.propose({ proposer: "agent:pricing" });
    expect([proposer_kind, status]).toEqual(["agent", "pending_consent"]);
    expect((await api.post("propose", PROPOSAL, AS_AGENT)).body.proposer).toBeNull();
  });
});

describe("its consent", () => {
  test.each(["agent:pricing", "Robo", "agent:unheard-of", "ａｇｅｎｔ:x"])("%s never decides", async (approver) => {
    const api = await opened();
    const { change_id } = await api.propose();
    for (const action of ["approve", "deny"])
      expect(await api.post(action, { change_id, approver })).toMatchObject({
        status: 403,
        body: { code: "not_an_approver" },
      });
    expect((await api.change(change_id)).status).toBe("pending_consent");
  });

  test("that was given before the intent said what it is counts no more", async () => {
    const before = await service();
    const { change_id } = await before.propose();
    await before.post("approve", { change_id, approver: "robo" });
    const after = await opened({ store: before.deps.store, clock: before.deps.clock, ids: before.deps.ids });
    expect(await after.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
    const { gates } = await after.change(change_id);
    expect(gates).toContainEqual({ gate: "consent", state: "block", message: "0 of 1 consent" });
  });

  test("is not the intent's own: what it proposes is never minor, unless the intent says so", async () => {
    const minor = { kinds: ["config"], targets: ["ui.*"] };
    const small = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
    const tierUnder = async (rule: object) =>
      (await proposed(await opened({ intent: { policy: { minor: rule } } }), small)).tier;
    expect(await tierUnder(minor)).toBe("standard");
    expect(await tierUnder({ ...minor, agents: false })).toBe("standard");
    expect(await tierUnder({ ...minor, agents: true })).toBe("minor");
    const api = await service({ intent: { policy: { minor } } });
    expect((await api.propose({ ...small, proposer: "agent:x" })).tier).toBe("standard");
  });
});

describe("what it takes back", () => {
  test("is what it proposed itself: no other agent's, no person's, nobody's", async () => {
    const api = await opened();
    const own = await proposed(api);
    const robos = await proposed(api, {}, AS_ROBO);
    const anas = await api.propose({ proposer: "ana@acme.example" });
    const nobodys = await api.propose();
    for (const { change_id } of [robos, anas, nobodys])
      expect(await api.post("withdraw", { change_id }, AS_AGENT)).toMatchObject({
        status: 403,
        body: { code: "not_the_proposer" },
      });
    const { change_id } = own;
    expect((await api.post("withdraw", { change_id, proposer: "ana@acme.example" }, AS_AGENT)).status).toBe(403);
    expect((await api.post("withdraw", { change_id, note: "no need" }, AS_AGENT)).body.decision).toBe("withdrawn");
    expect(await detailOf(api)).toMatchObject({ approver: "agent:pricing", authenticated: "agent", note: "no need" });
  });
});

describe("a bearer token", () => {
  const STRANGE = { authorization: "Bearer of bad news" };

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
  ])("%j that nobody has is 401 where there are agents", async (authorization) => {
    const api = await opened();
    for (const reply of [
      await api.get("intent", { authorization }),
      await api.post("propose", PROPOSAL, { authorization }),
      await api.post("/api/tasks", { title: "t" }, { authorization }),
    ])
      expect(reply).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(await api.audit()).toEqual([]);
  });

  test("is ignored if another credential vouches for the request, or another scheme is used", async () => {
    const api = await opened({ adminToken: ADMIN, identityHeader: "x-person" });
    const person = { "x-person": "pat" };
    const propose = (headers: object) => api.post("propose", PROPOSAL, headers as HeadersInit);
    expect((await propose({ ...STRANGE, ...WITH_TOKEN, ...person })).body.proposer).toBe("pat");
    expect((await api.get("intent", { ...STRANGE, ...person })).status).toBe(200);
    expect((await api.get("intent", { ...STRANGE, ...WITH_TOKEN })).status).toBe(200);
    expect((await api.get("intent", { ...STRANGE, "x-person": " " })).status).toBe(401);
    for (const authorization of ["Basic YTpi", "Bearers x", "Basic x-bearer y", 'Digest username="bearer x"'])
      expect((await api.get("intent", { authorization })).status).toBe(200);
    expect((await propose({ ...STRANGE, ...person })).status).toBe(401);
  });

  test("means nothing where there are no agents", async () => {
    expect((await (await service()).post("propose", PROPOSAL, STRANGE)).status).toBe(201);
  });

  test("is verified against the hash of every agent, as a whole", async () => {
    const hashed: unknown[] = [];
    const sha256 = (data: string | Uint8Array) => (hashed.push(data), portableSha256(data));
    const api = await opened({ sha256 });
    expect((await proposed(api, {}, AS_ROBO)).proposer).toBe("robo");
    expect(hashed).toContain("another secret");
  });
});

test("an agent's Idempotency-Key gives nobody else its answer", async () => {
  const api = await opened();
  const key = { "idempotency-key": "k1" };
  const propose = (headers: object) => api.post("propose", PROPOSAL, { ...key, ...headers } as HeadersInit);
  const first = await propose(AS_AGENT);
  expect((await propose(AS_AGENT)).text).toBe(first.text);
  expect((await propose(AS_ROBO)).body.proposer).toBe("robo");
  expect((await propose({})).body.proposer).toBeNull();
});

test("the manifest that comes into force tells the kinds of its principals, and no secret's hash", async () => {
  const api = await opened();
  await proposed(api);
  const [inForce] = await api.audit();
  expect(JSON.parse(inForce.detail).principals).toEqual({
    "ana@acme.example": { kind: "person", keys: [] },
    "agent:pricing": { kind: "agent", keys: [] },
    robo: { kind: "agent", keys: [] },
  });
});

test("the levels of autonomy go by who is known to have proposed and decided", async () => {
  const api = await opened({ identityHeader: "x-person" });
  const ana = { "x-person": "ana@acme.example" };
  const decide = async (change: { change_id: string }, headers: HeadersInit) =>
    expect((await api.post("approve", { change_id: change.change_id }, headers)).status).toBe(200);
  await decide(await proposed(api), ana);
  await decide(await proposed(api, {}, { "x-person": "pat" }), ana);
  const claimed = await opened({ ...api.deps, intent: {}, identityHeader: undefined });
  const pats = await claimed.propose({ proposer: "pat" });
  await claimed.post("approve", { change_id: pats.change_id, approver: "ana@acme.example" });
  await claimed.post("withdraw", { change_id: (await proposed(claimed)).change_id }, AS_AGENT);
  const { points, totals } = (await claimed.get("/api/l1l5_trend?days=1")).body;
  expect(totals).toEqual({ L1: 1, L2: 0, L3: 1, L4: 0, L5: 0, unattributed: 1 });
  expect(points).toMatchObject([totals]);

  const before = await service();
  await before.must("approve", (await before.propose()).change_id);
  expect((await before.get("/api/l1l5_trend?days=1")).body.totals).toMatchObject({ L1: 1, unattributed: 0 });
});

test("the hash of an empty secret is no agent's", async () => {
  const nobody = { "agent:x": { kind: "agent", token_sha256: portableSha256("") } };
  await expect(service({ intent: { principals: nobody } })).rejects.toThrow(
    /token_sha256 is the hash of an empty secret/,
  );
});

test("whom the proxy calls by an agent's name is no agent, and may read at most", async () => {
  const api = await opened({ identityHeader: "x-person" });
  const me = (await api.get("/api/whoami", { "x-person": "robo" })).body;
  expect(me).toMatchObject({ name: null, kind: "unknown", may: ["read"] });
});

test("a guess next to the read token is counted, and answered late", async () => {
  const late: number[] = [];
  let wrong = 0;
  const api = await opened({
    readToken: "a read token of length",
    adminToken: ADMIN,
    protectAll: false,
    pause: async (ms) => void late.push(ms),
    wrongToken: () => wrong++,
  });
  const headers = { "x-svc-read-token": "a read token of length", authorization: "Bearer a guess" };
  await api.post("/api/tasks", { title: "t" }, headers);
  expect([wrong, late]).toEqual([1, [250]]);
});

test("chat is a read where reads are protected", async () => {
  const api = await opened({ readToken: "a read token of length", adminToken: ADMIN, protectReads: true });
  await proposed(api, { summary: "HIDDEN" });
  expect((await api.post("/api/chat", { message: "what is pending?" })).status).toBe(401);
  expect(
    (await api.post("/api/chat", { message: "what is pending?" }, { "x-svc-read-token": "a read token of length" }))
      .status,
  ).toBe(200);
});
