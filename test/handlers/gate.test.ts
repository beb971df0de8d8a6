/** The pull gate: which release another tool may deploy, in each life of its changes. */
import { describe, expect, test } from "vitest";
import { gateAdapter } from "../../lib/targets/gate.ts";
import { HOUR } from "../support/clock.ts";
import { restarted, type TestOptions } from "../support/deps.ts";
import { passkey } from "../support/passkeys.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { service, makeService, type TestService } from "../support/service.ts";
import type { Tx } from "../../lib/store/store.ts";
import { decide, forgeConsent, person } from "../support/signed.ts";

const [X, Y, Z] = ["a".repeat(40), "b".repeat(40), "c".repeat(64)] as const;
const TARGET = "deploy/42/production";

const release = (head: string, over: object = {}) => ({
  target: TARGET,
  value: JSON.stringify({ repository_id: 42, environment: "production", head }),
  ...over,
});

const gates = (): TestOptions => ({
  targets: [
    { name: "deploys", match: ["deploy/*", "terraform/*"], tenants: ["t1"], adapter: gateAdapter("deploys") },
    { name: "rest", match: ["*"], adapter: scriptedAdapter() },
  ],
});

const ask = (api: TestService, head: string, over: Record<string, string> = {}) =>
  api.get(`/api/gate?${new URLSearchParams({ target: TARGET, tenant_id: "t1", head, ...over }).toString()}`);

/** The state of each head, and the first reason. */
async function states(api: TestService, ...heads: string[]) {
  const replies = await Promise.all(heads.map((head) => ask(api, head)));
  return replies.map(({ body }) => [body.state, body.change_id, ...body.reasons].slice(0, 3));
}

const staging = JSON.stringify({ repository_id: 42, environment: "staging", head: Y });
const says = (text: string) => expect.stringContaining(text);

describe("the newest consented release of a target, and no other, is allowed", () => {
  test("from proposal to rollback", async () => {
    const api = await service(gates());
    expect(await states(api, X)).toEqual([["refused", null, says("no change of this target")]]);
    const { change_id: x } = await api.propose(release(X));
    expect(await states(api, X, Y)).toEqual([
      ["waiting", x, `${x} waits for 1 more consent (required_approvers)`],
      ["refused", null, says("no change of this target")],
    ]);
    await api.must("approve", x);
    expect(await states(api, X)).toEqual([["allowed", x]]);
    await api.must("apply", x);
    expect(await states(api, X)).toEqual([["allowed", x]]);
    const y = await api.bring("approved", release(Y));
    expect(await states(api, X, Y)).toEqual([
      ["refused", x, `${y} was consented to after ${x}, and releases another head`],
      ["allowed", y],
    ]);
    await api.must("apply", y);
    await api.must("rollback", y);
    // A rollback allows the release before it again.
    expect(await states(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, `${y} was rolled back`],
    ]);
  });

  test("by the order of consents, whatever the order of proposals and applies", async () => {
    const api = await service(gates());
    const { change_id: x } = await api.propose(release(X));
    const { change_id: y } = await api.propose(release(Y));
    await api.must("approve", y);
    await api.must("approve", x);
    expect(await states(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, says("consented to after")],
    ]);
    await api.must("apply", x);
    await api.must("apply", y);
    // The newest consent no longer owns the target, and what owns it has an older one.
    expect(await states(api, X, Y)).toEqual([
      ["refused", x, `${y} holds the target now, and no longer ${x}`],
      ["refused", y, says("consented to after")],
    ]);
    const again = await api.bring("pending_consent", release(X));
    expect(await states(api, X)).toEqual([["waiting", again, says("waits for 1 more consent")]]);
  });

  test.each([
    ["denied", async (api: TestService, id: string) => api.must("deny", id), "was denied"],
    ["withdrawn", async (api: TestService, id: string) => api.must("withdraw", id), "was withdrawn"],
  ] as const)("a %s change is refused", async (_, act, reason) => {
    const api = await service(gates());
    const { change_id } = await api.propose(release(X, { proposer: "pat" }));
    await act(api, change_id);
    expect(await states(api, X)).toEqual([["refused", change_id, says(reason)]]);
  });

  test("a revoked change gives way to the one before it", async () => {
    const api = await service(gates());
    const x = await api.bring("applied", release(X));
    const y = await api.bring("approved", release(Y));
    await api.must("revoke", y);
    expect(await states(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, says("was revoked")],
    ]);
  });

  test("other kinds, targets and tenants release nothing", async () => {
    const api = await service();
    await api.bring("approved", release(X, { kind: "experiment" }));
    expect((await states(api, X))[0]![0]).toBe("refused");
    await api.bring("approved", release(X, { tenant_id: "t2" }));
    await api.bring("approved", release(X, { target: "deploy/42/staging" }));
    // Without gates nothing checks a value at its proposal: another environment in it releases nothing.
    await api.bring("approved", { ...release(X), value: JSON.stringify({ head: X }) });
    expect((await states(api, X))[0]![0]).toBe("refused");
    const id = await api.bring("approved", release(X, { target: "Deploy/42/production" }));
    expect(await states(api, X)).toEqual([["allowed", id]]);
  });
});

describe("what would reject its apply makes an approved release wait, or refuses it", () => {
  test("a freeze and a window, which an emergency passes, applied or not", async () => {
    const policy = {
      windows: { deny: [{ from: "2026-01-02T05:00:00Z", to: "2026-01-03T00:00:00Z", reason: "sales" }] },
      break_glass: { approvers: ["bo"], required: 1, review_hours: 24 },
    };
    const api = await service({ ...gates(), intent: { policy } });
    const x = await api.bring("approved", release(X));
    await api.post("freeze", { actor: "ops", note: "incident" });
    expect(await states(api, X)).toEqual([["waiting", x, says("the service is frozen by ops")]]);
    await api.post("unfreeze", { actor: "ops" });
    await api.must("apply", x);
    api.deps.clock.advance(3 * HOUR);
    expect(await states(api, X)).toEqual([["waiting", x, says("nothing is applied now: sales")]]);
    await api.post("freeze", { actor: "ops" });
    const { change_id: y } = await api.propose(release(Y));
    await api.post("approve", { change_id: y, approver: "bo", emergency: true, note: "down" });
    expect(await states(api, Y)).toEqual([["allowed", y]]);
    expect((await api.act("apply", y)).status).toBe(200);
    expect(await states(api, Y)).toEqual([["allowed", y]]);
  });

  test("consents that no longer count, under another intent", async () => {
    const api = await service(gates());
    const x = await api.bring("approved", release(X));
    const strict = { ...gates(), intent: { policy: { required_approvers: { standard: 2 } } } };
    const now = makeService(await restarted(api.deps, { adapter: undefined, ...strict }));
    expect(await states(now, X)).toEqual([["waiting", x, says("consents are missing")]]);
    await now.post("approve", { change_id: x, approver: "bo" });
    expect(await states(now, X)).toEqual([["allowed", x]]);
    const forbidden = { ...gates(), intent: { policy: { forbidden_targets: ["deploy/*"] } } };
    const closed = makeService(await restarted(now.deps, { adapter: undefined, ...forbidden }));
    expect(await states(closed, X)).toEqual([["refused", x, says("forbid")]]);
  });

  test("a signature whose key the intent no longer lists, also of an applied release", async () => {
    const ANA = passkey();
    const signed = { ...gates(), intent: { principals: { ana: person(ANA) } } };
    const api = await service(signed);
    const { change_id: x } = await api.propose(release(X, { proposer: "agent" }));
    await decide(api, ANA, "approve", { change_id: x, approver: "ana" });
    expect(await states(api, X)).toEqual([["allowed", x]]);
    await api.must("apply", x);
    const other = { ...gates(), intent: { principals: { ana: person(passkey()) } } };
    const now = makeService(await restarted(api.deps, { adapter: undefined, ...other }));
    expect(await states(now, X)).toEqual([["waiting", x, says("is applied and takes none, so propose")]]);
  });

  test("a consent that nobody signed, where signatures count", async () => {
    const ANA = passkey();
    const api = await service({ ...gates(), intent: { principals: { ana: person(ANA) } } });
    const { change_id: other } = await api.propose(
      release(Y, { target: "deploy/42/staging", proposer: "agent", value: staging }),
    );
    const given = await decide(api, ANA, "approve", { change_id: other, approver: "ana" });
    const { key } = JSON.parse(given.body.audit_entry.detail);
    const { change_id: x } = await api.propose(release(X, { proposer: "agent" }));
    await forgeConsent(api.deps, x, { approver: "ana", note: "", authenticated: "signature", key });
    expect((await api.change(x)).status).toBe("approved");
    expect(await states(api, X)).toEqual([["waiting", x, says("consents are missing")]]);
  });

  test("a deadline that is over", async () => {
    const policy = { approval_ttl_hours: 1, consent_ttl_hours: 1 };
    const api = await service({ ...gates(), intent: { policy } });
    const x = await api.bring("approved", release(X));
    const { change_id: y } = await api.propose(release(Y));
    api.deps.clock.advance(HOUR + 1);
    expect(await states(api, X, Y)).toEqual([
      ["refused", x, says("longer than the intent allows")],
      ["refused", y, says("longer than the intent allows")],
    ]);
  });

  test("another owner of the target, where the intent blocks that", async () => {
    const api = await service({ ...gates(), intent: { policy: { on_stale: "block" } } });
    const x = await api.bring("approved", release(X));
    const y = await api.bring("applied", release(Y));
    await api.must("rollback", y);
    expect(await states(api, X)).toEqual([["allowed", x]]);
    const z = await api.bring("approved", release(Z));
    await api.must("apply", x);
    expect(await states(api, Z)).toEqual([["refused", z, says("the target holds")]]);
  });

  test("a record that does not match the log, whatever head is asked for", async () => {
    const api = await service(gates());
    await api.bring("applied", release(Y));
    const x = await api.bring("approved", release(X));
    await api.deps.store.transact(async (tx) => {
      const record = (await tx.get("changes", x))!.value;
      const value = { repository_id: 42, environment: "production", head: Z };
      tx.put("changes", x, { ...record, change: { ...record.change, value } });
    });
    for (const head of [X, Y, Z])
      expect(await states(api, head)).toEqual([["waiting", x, says("does not match the log (content)")]]);
  });

  test.each<[string, string, "live_by_target" | "changes" | "owners", boolean]>([
    ["the row of an approved change", "refused", "live_by_target", false],
    ["the record of an approved change", "waiting", "changes", false],
    ["the row of an applied change", "refused", "owners", true],
    ["the record of an applied change", "waiting", "changes", true],
  ])("%s that is missing in the store does not bring back the release before it", async (_, state, from, applied) => {
    const api = await service(gates());
    const { change_id: x } = await api.propose(release(X));
    const { change_id: y } = await api.propose(release(Y));
    await api.must("approve", x);
    if (!applied) await api.must("apply", x);
    await api.must("approve", y);
    if (applied) for (const id of [y, x]) await api.must("apply", id);
    const { store } = api.deps;
    const rows = await store.list(from, { limit: 100 });
    await store.transact(async (tx) => {
      for (const { id, value } of rows) if (id.includes(y) || value === y) tx.delete(from, id);
    });
    // A process that has read nothing of the log yet reads it as far as its answer needs.
    for (const one of [api, makeService(await restarted(api.deps, { adapter: undefined, ...gates() }))])
      expect((await states(one, X))[0]!.slice(0, 2)).toEqual([state, state === "waiting" ? y : x]);
  });

  test("a log that went back", async () => {
    const api = await service(gates());
    await api.bring("approved", release(X));
    api.deps.integrity.breach = { first_invalid: 1, reason: "an entry was edited" };
    expect(await states(api, X)).toEqual([["waiting", null, says("the audit chain does not hold")]]);
  });
});

test("a question reads little of many releases that were never applied", async () => {
  const api = await service(gates());
  for (let i = 0; i < 120; i++) await api.bring("approved", release(i.toString(16).padStart(40, "0")));
  const { store } = api.deps;
  const transact = store.transact.bind(store);
  let reads = 0;
  const counted = (run: (tx: Tx) => Promise<unknown>) => (tx: Tx) =>
    run({
      ...tx,
      get: (...of: Parameters<Tx["get"]>) => (reads++, tx.get(...of)),
      getMany: (...of: Parameters<Tx["getMany"]>) => (reads++, tx.getMany(...of)),
      list: (...of: Parameters<Tx["list"]>) => (reads++, tx.list(...of)),
    } as Tx);
  store.transact = ((run: (tx: Tx) => Promise<unknown>) => transact(counted(run))) as typeof store.transact;
  expect((await states(api, X, "77".padStart(40, "0"))).map(([state]) => state)).toEqual(["refused", "allowed"]);
  expect(reads).toBeLessThan(60);
});

test("answer=status says the state as curl reads it", async () => {
  const api = await service(gates());
  const { change_id } = await api.propose(release(X));
  const waiting = await ask(api, X, { answer: "status" });
  expect([waiting.status, waiting.headers.get("retry-after"), waiting.body.change_id]).toEqual([503, "30", change_id]);
  await api.must("approve", change_id);
  const allowed = await ask(api, X, { answer: "status" });
  expect([allowed.status, allowed.body]).toEqual([
    200,
    { state: "allowed", allowed: true, change_id, page: null, reasons: [] },
  ]);
  const refused = await ask(api, Y, { answer: "status" });
  expect([refused.status, refused.headers.get("retry-after"), refused.body.state]).toEqual([403, null, "refused"]);
});

test("the page of the change is below the console's address", async () => {
  const api = await service({ ...gates(), publicUrl: "https://gov.acme.example" });
  const { change_id } = await api.propose(release(X));
  expect((await ask(api, X)).body.page).toBe(`https://gov.acme.example/#/changes/${change_id}`);
});

test("malformed questions and targets that no gate covers are rejected", async () => {
  const api = await service(gates());
  const failed = async (over: Record<string, string>) => (await ask(api, X, over)).body;
  for (const head of ["", "abc", X.toUpperCase(), `${X}a`, `${X}\n`])
    expect(await failed({ head })).toMatchObject({ code: "invalid_field", fields: [{ field: "head" }] });
  expect(await failed({ answer: "yes" })).toMatchObject({ code: "invalid_field", fields: [{ field: "answer" }] });
  expect(await failed({ sha: X })).toMatchObject({ code: "invalid_field", fields: [{ field: "sha" }] });
  expect(await failed({ target: "ui.banner" })).toMatchObject({ code: "no_target_system" });
  expect(await failed({ tenant_id: "t2" })).toMatchObject({ code: "no_target_system" });
  // Without --targets every target may be asked for.
  for (const options of [{}, { adapter: scriptedAdapter() }])
    expect((await ask(await service(options), X, { target: "ui.banner" })).body.state).toBe("refused");
});

describe("a proposal to a gate", () => {
  const deploy = (members: object) => ({ target: TARGET, value: JSON.stringify(members) });
  const whole = { repository_id: 42, environment: "production", head: X };
  test.each<[string, object]>([
    ["without a value", { target: TARGET }],
    ["without repository_id", deploy({ ...whole, repository_id: undefined })],
    ["of another repository", deploy({ ...whole, repository_id: 43 })],
    ["with a text as repository_id", deploy({ ...whole, repository_id: "42" })],
    ["of another environment", deploy({ ...whole, environment: "staging" })],
    ["with a short head", deploy({ ...whole, head: "abc" })],
    ["whose target names no repository", { ...deploy(whole), target: "deploy/shop/production" }],
    ["whose target names no environment", { ...deploy(whole), target: "deploy/42" }],
    ["of a list", { target: TARGET, value: "[]" }],
    ["of another tool without a head", { target: "terraform/ws-1", value: '{"run":1}' }],
  ])("%s is rejected", async (_, fields) => {
    const api = await service(gates());
    const reply = await api.post("propose", { tenant_id: "t1", kind: "config", summary: "Release", ...fields });
    expect(reply).toMatchObject({ status: 400, body: { code: "value_not_allowed" } });
  });

  test("of another tool with any head is filed", async () => {
    const api = await service(gates());
    const id = await api.bring("approved", { target: "terraform/ws-1", value: JSON.stringify({ head: Z, run: 1 }) });
    expect((await ask(api, Z, { target: "terraform/ws-1" })).body).toMatchObject({ state: "allowed", change_id: id });
  });
});
