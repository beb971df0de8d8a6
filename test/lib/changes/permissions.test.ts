/** Permissions for minor proposals, unfreeze, erase, accept-clock and accept-loss, and the limits of agents. */
import { describe, expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { PROPOSAL } from "../../support/client.ts";
import { core } from "../../support/core.ts";
import { passkey } from "../../support/passkeys.ts";
import { postSignedAction, person, proofFields, requestStatement } from "../../support/signed.ts";

const [ANA, EVE] = [passkey(), passkey()];
const agent = (secret: string, may?: object) => ({ kind: "agent", token_sha256: portableSha256(secret), may });
const asAgent = (secret: string) => ({ authorization: `Bearer ${secret}` });
const errorReply = (status: number, code: string) => ({ status, body: { code } });
const MINOR = { ...PROPOSAL, kind: "config", tier: "minor", affected_users: 1, risk: "low", reversible: true };

describe("a change proposed as minor, if the intent names principals", () => {
  const minor = { kinds: ["config"], targets: ["*"] };
  const coreBehindProxy = (policy: object = {}) =>
    core({
      identityHeader: "x-person",
      intent: {
        principals: { ana: person(ANA), "agent:a": agent("secret of a") },
        policy: { minor: { ...minor, ...policy }, signed_only: false },
      },
    });
  const coreWithoutProxy = () =>
    core({ intent: { principals: { ana: person(ANA) }, policy: { minor, signed_only: false } } });

  test("is standard without a proposer, or with a name without proof", async () => {
    const api = await coreWithoutProxy();
    for (const proposer of [{}, { proposer: "bo" }])
      expect((await api.post("propose", { ...MINOR, ...proposer })).body).toMatchObject({ tier: "standard" });
  });

  test("is minor for a proposer who signs or is named by the proxy", async () => {
    const signed = await coreWithoutProxy();
    const statement = await requestStatement(signed, {
      decision: "propose",
      approver: "ana",
      proposal: JSON.stringify(MINOR),
    });
    const reply = await signed.post("propose", { ...MINOR, proposer: "ana", ...proofFields(ANA, statement) });
    expect(reply).toMatchObject({ status: 201, body: { tier: "minor", status: "approved" } });
    const proxied = await (await coreBehindProxy()).post("propose", MINOR, { "x-person": "bo" });
    expect(proxied.body).toMatchObject({ tier: "minor", status: "approved" });
  });

  test.each([
    [true, "minor"],
    [false, "standard"],
  ])("of an agent under minor.agents: %s is %s", async (agents, tier) => {
    const api = await coreBehindProxy({ agents });
    expect((await api.post("propose", MINOR, asAgent("secret of a"))).body).toMatchObject({ tier });
  });

  test("is minor for every proposer if the intent names no principals", async () => {
    const api = await core({ intent: { policy: { minor } } });
    expect((await api.post("propose", MINOR)).body).toMatchObject({ tier: "minor" });
  });
});

test("a person with keys cannot be the proposer without a signature", async () => {
  const api = await core({ intent: { principals: { ana: person(ANA) }, policy: { signed_only: false } } });
  for (const proposer of ["ana", " ANA", "ａｎａ"])
    expect(await api.post("propose", { ...PROPOSAL, proposer })).toMatchObject(errorReply(403, "proposer_unknown"));
  expect((await api.post("propose", { ...PROPOSAL, proposer: "bo" })).status).toBe(201);
});

describe("permission to unfreeze, erase, accept-clock and accept-loss", () => {
  const coreWithApprovers = () =>
    core({
      intent: {
        principals: { ana: person(ANA), eve: person(EVE), ops: person(passkey()) },
        policy: { approvers: ["ana"], break_glass: { approvers: ["ops"] } },
      },
    });

  test("is missing for a person who is no approver", async () => {
    const api = await coreWithApprovers();
    const { change_id } = await api.propose();
    await postSignedAction(api, ANA, "freeze", { actor: "ana" });
    const before = await api.audit();
    expect(await postSignedAction(api, EVE, "unfreeze", { actor: "eve" })).toMatchObject(
      errorReply(403, "not_permitted"),
    );
    expect(await postSignedAction(api, EVE, "accept_clock", { actor: "eve" })).toMatchObject(
      errorReply(403, "not_permitted"),
    );
    const end = { length: String(before.length), head: before.at(-1)!.current_hash };
    expect(await postSignedAction(api, EVE, "accept_loss", { actor: "eve", ...end })).toMatchObject(
      errorReply(403, "not_permitted"),
    );
    expect(await api.post("erase", { change_id, actor: "eve" })).toMatchObject(errorReply(403, "not_permitted"));
    expect(await api.post("unfreeze", {})).toMatchObject(errorReply(403, "not_permitted"));
    expect(await api.audit()).toEqual(before);
  });

  test("is granted to an approver (tested with unfreeze), while everyone may freeze", async () => {
    const api = await coreWithApprovers();
    expect((await postSignedAction(api, EVE, "freeze", { actor: "eve" })).status).toBe(200);
    expect((await postSignedAction(api, ANA, "unfreeze", { actor: "ana" })).status).toBe(200);
  });

  test("is granted to an emergency approver, in any spelling (tested with unfreeze)", async () => {
    const api = await core({ intent: { policy: { approvers: ["ana"], break_glass: { approvers: ["ops"] } } } });
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", { actor: "eve" })).toMatchObject(errorReply(403, "not_permitted"));
    expect((await api.post("unfreeze", { actor: " OPS" })).status).toBe(200);
  });

  test("is granted to everyone if the intent lists no approvers (tested with unfreeze)", async () => {
    const api = await core();
    await api.post("freeze", { actor: "eve" });
    expect((await api.post("unfreeze", { actor: "eve" })).status).toBe(200);
  });
});

describe("the limits of an agent", () => {
  const coreWithLimits = (may?: object, options: object = {}) =>
    core({
      intent: { principals: { "agent:a": agent("secret of a", may), robo: agent("secret of robo") } },
      ...options,
    });
  const limitReached = (limit: string, max: number) => ({ status: 429, body: { code: "too_many_open", limit, max } });
  const propose = (api: Awaited<ReturnType<typeof coreWithLimits>>, targetNumber: number, secret = "secret of a") =>
    api.post("propose", { ...PROPOSAL, target: `ui.t${targetNumber}` }, asAgent(secret));

  test("bound its open changes, also for concurrent proposals, and only its own", async () => {
    const api = await coreWithLimits({ max_open: 3 });
    const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => propose(api, index)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(9);
    expect(await propose(api, 99)).toMatchObject(limitReached("max_open", 3));
    expect((await propose(api, 99, "secret of robo")).status).toBe(201);
    expect((await api.post("propose", { ...PROPOSAL, proposer: "ana" })).status).toBe(201);
  });

  test("count no change that is denied, withdrawn or applied", async () => {
    const api = await coreWithLimits({ max_open: 1 });
    const { change_id: first } = (await propose(api, 1)).body;
    await api.must("approve", first);
    expect(await propose(api, 2)).toMatchObject(limitReached("max_open", 1));
    await api.must("apply", first);
    const { change_id: second } = (await propose(api, 2)).body;
    await api.post("withdraw", { change_id: second }, asAgent("secret of a"));
    const { change_id: third } = (await propose(api, 3)).body;
    await api.must("deny", third);
    expect((await propose(api, 4)).status).toBe(201);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  });

  test("bound its proposals in a UTC day, with Retry-After until the next day", async () => {
    const api = await coreWithLimits({ max_per_day: 2 });
    for (const targetNumber of [1, 2]) {
      const { change_id } = (await propose(api, targetNumber)).body;
      await api.post("withdraw", { change_id }, asAgent("secret of a"));
    }
    const reply = await propose(api, 3);
    expect(reply).toMatchObject(limitReached("max_per_day", 2));
    api.deps.clock.advance(Number(reply.headers.get("retry-after")) * 1000);
    expect((await propose(api, 3)).status).toBe(201);
  });

  test("default to 100 open changes, and are checked after forbidden targets", async () => {
    const api = await coreWithLimits();
    for (let index = 0; index < 100; index++) expect((await propose(api, index)).status).toBe(201);
    expect(await propose(api, 100)).toMatchObject(limitReached("max_open", 100));
    const withoutOpenChanges = await core({
      intent: {
        principals: { "agent:a": agent("secret of a", { max_open: 0 }) },
        policy: { forbidden_targets: ["a.*"] },
      },
    });
    expect(
      await withoutOpenChanges.post("propose", { ...PROPOSAL, target: "a.b" }, asAgent("secret of a")),
    ).toMatchObject(errorReply(403, "forbidden_target"));
    expect(await withoutOpenChanges.post("propose", PROPOSAL, asAgent("secret of a"))).toMatchObject(
      limitReached("max_open", 0),
    );
  });
});

test("an agent's scope is checked before all other rules of a proposal", async () => {
  const may = { targets: ["ui.*"], kinds: ["config"], tenants: ["t1"], max_open: 0 };
  const principals = { "agent:a": agent("secret of a", may) };
  const api = await core({ intent: { principals, policy: { forbidden_targets: ["billing.*"] } } });
  const propose = (fields: object) => api.post("propose", { ...PROPOSAL, ...fields }, asAgent("secret of a"));
  const outside = (field: string) => ({ status: 403, body: { code: "agent_may_not", agent: "agent:a", field } });
  const before = await api.audit();
  // Each proposal also breaks a later rule: a forbidden target, an unknown superseded change, or `max_open`.
  expect(await propose({ target: "billing.rate" })).toMatchObject(outside("target"));
  expect(await propose({ kind: "workflow", supersedes: "chg_00000000-0000-7000-8000-000000000000" })).toMatchObject(
    outside("kind"),
  );
  expect(await propose({ tenant_id: "T1" })).toMatchObject(outside("tenant_id"));
  expect(await propose({ tenant_id: "*" })).toMatchObject(outside("tenant_id"));
  expect(await api.audit()).toEqual(before);
  // Patterns of targets ignore case; the names of tenants do not.
  expect(await propose({ target: "UI.Banner" })).toMatchObject(errorReply(429, "too_many_open"));
  expect((await api.post("propose", { ...PROPOSAL, tenant_id: "t2" })).status).toBe(201);
});

test("an approver's name with a reserved prefix, or of a peer or agent, is rejected", async () => {
  const api = await core();
  const { change_id } = await api.propose();
  for (const approver of ["llm:m", "Policy:x", "mandate:1", "idp:x", "group:x", "ｇｒｏｕｐ：x"])
    expect(await api.post("approve", { change_id, approver })).toMatchObject(errorReply(400, "invalid_field"));
  for (const approver of ["peer:x", "PEER:x", "agent:x"])
    expect(await api.post("approve", { change_id, approver })).toMatchObject(errorReply(403, "not_an_approver"));
});

test("a signed erasure records its statement as used", async () => {
  const api = await core({ intent: { principals: { ana: person(ANA) } } });
  const { change_id } = await api.propose({ proposer: "bo" });
  const statement = await requestStatement(api, { decision: "deny", approver: "ana", change_id });
  await api.post("deny", { change_id, approver: "ana", ...proofFields(ANA, statement) });
  const eraseStatement = await requestStatement(api, { decision: "erase", approver: "ana", change_id });
  const fields = { change_id, actor: "ana", ...proofFields(ANA, eraseStatement) };
  expect((await api.post("erase", fields)).status).toBe(200);
  // A change accepts a denial only once, so its statement is not recorded.
  expect((await api.deps.store.list("used_statements", { limit: 10 })).length).toBe(1);
});
