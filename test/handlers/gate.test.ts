/** Tests the release gate by GET: which release another tool may deploy, as its change and the changes of its target proceed. */
import { describe, expect, test } from "vitest";
import { gateAdapter } from "../../lib/targets/gate.ts";
import { HOUR } from "../support/clock.ts";
import { restartDeps, type TestOptions } from "../support/deps.ts";
import { passkey } from "../support/passkeys.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { service, makeService, type TestService } from "../support/service.ts";
import type { Tx } from "../../lib/store/store.ts";
import { decide, forgeConsent, person } from "../support/signed.ts";

/** Heads of releases. In each test `x` is the change that releases `X`, and so on. */
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

/** Returns for each head the gate's state, the change and, if there is one, the first reason. */
async function readStates(api: TestService, ...heads: string[]) {
  const replies = await Promise.all(heads.map((head) => ask(api, head)));
  return replies.map(({ body }) => [body.state, body.change_id, ...body.reasons].slice(0, 3));
}

const staging = JSON.stringify({ repository_id: 42, environment: "staging", head: Y });
const containing = (text: string) => expect.stringContaining(text);

describe("only the newest approved release of a target is allowed", () => {
  test("at each status from proposal to rollback", async () => {
    const api = await service(gates());
    expect(await readStates(api, X)).toEqual([["refused", null, containing("no change of this target")]]);
    const { change_id: x } = await api.propose(release(X));
    expect(await readStates(api, X, Y)).toEqual([
      ["waiting", x, `${x} waits for 1 more consent (required_approvers)`],
      ["refused", null, containing("no change of this target")],
    ]);
    await api.must("approve", x);
    expect(await readStates(api, X)).toEqual([["allowed", x]]);
    await api.must("apply", x);
    expect(await readStates(api, X)).toEqual([["allowed", x]]);
    const y = await api.bring("approved", release(Y));
    expect(await readStates(api, X, Y)).toEqual([
      ["refused", x, `${y} was consented to after ${x}, and releases another head`],
      ["allowed", y],
    ]);
    await api.must("apply", y);
    await api.must("rollback", y);
    // A rollback allows the release before it again.
    expect(await readStates(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, `${y} was rolled back`],
    ]);
  });

  test("by the order of approvals, whatever the order of proposals and applies", async () => {
    const api = await service(gates());
    const { change_id: x } = await api.propose(release(X));
    const { change_id: y } = await api.propose(release(Y));
    await api.must("approve", y);
    await api.must("approve", x);
    expect(await readStates(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, containing("consented to after")],
    ]);
    await api.must("apply", x);
    await api.must("apply", y);
    // The change that was approved last does not own the target, and the change that owns it was approved earlier.
    expect(await readStates(api, X, Y)).toEqual([
      ["refused", x, `${y} holds the target now, and no longer ${x}`],
      ["refused", y, containing("consented to after")],
    ]);
    const again = await api.bring("pending_consent", release(X));
    expect(await readStates(api, X)).toEqual([["waiting", again, containing("waits for 1 more consent")]]);
  });

  test.each([
    ["denied", async (api: TestService, id: string) => api.must("deny", id), "was denied"],
    ["withdrawn", async (api: TestService, id: string) => api.must("withdraw", id), "was withdrawn"],
  ] as const)("a %s change is refused", async (_, action, reason) => {
    const api = await service(gates());
    const { change_id } = await api.propose(release(X, { proposer: "pat" }));
    await action(api, change_id);
    expect(await readStates(api, X)).toEqual([["refused", change_id, containing(reason)]]);
  });

  test("after a revocation the release before it is allowed", async () => {
    const api = await service(gates());
    const x = await api.bring("applied", release(X));
    const y = await api.bring("approved", release(Y));
    await api.must("revoke", y);
    expect(await readStates(api, X, Y)).toEqual([
      ["allowed", x],
      ["refused", y, containing("was revoked")],
    ]);
  });

  test("changes of other kinds, targets and tenants allow no release", async () => {
    const api = await service();
    await api.bring("approved", release(X, { kind: "experiment" }));
    expect((await readStates(api, X))[0]![0]).toBe("refused");
    await api.bring("approved", release(X, { tenant_id: "t2" }));
    await api.bring("approved", release(X, { target: "deploy/42/staging" }));
    // Without gates no value is checked at its proposal; a value without the environment releases nothing.
    await api.bring("approved", { ...release(X), value: JSON.stringify({ head: X }) });
    expect((await readStates(api, X))[0]![0]).toBe("refused");
    // A target that differs only in case is the same target.
    const id = await api.bring("approved", release(X, { target: "Deploy/42/production" }));
    expect(await readStates(api, X)).toEqual([["allowed", id]]);
  });
});

describe("an approved release whose apply would be rejected is waiting or refused", () => {
  test("under a freeze or outside a window, except for an emergency", async () => {
    const policy = {
      windows: { deny: [{ from: "2026-01-02T05:00:00Z", to: "2026-01-03T00:00:00Z", reason: "sales" }] },
      break_glass: { approvers: ["bo"], required: 1, review_hours: 24 },
    };
    const api = await service({ ...gates(), intent: { policy } });
    const x = await api.bring("approved", release(X));
    await api.post("freeze", { actor: "ops", note: "incident" });
    expect(await readStates(api, X)).toEqual([["waiting", x, containing("the service is frozen by ops")]]);
    await api.post("unfreeze", { actor: "ops" });
    await api.must("apply", x);
    // From 03:04 to 06:04, which is in the window.
    api.deps.clock.advance(3 * HOUR);
    expect(await readStates(api, X)).toEqual([["waiting", x, containing("nothing is applied now: sales")]]);
    await api.post("freeze", { actor: "ops" });
    const { change_id: y } = await api.propose(release(Y));
    await api.post("approve", { change_id: y, approver: "bo", emergency: true, note: "down" });
    expect(await readStates(api, Y)).toEqual([["allowed", y]]);
    expect((await api.act("apply", y)).status).toBe(200);
    expect(await readStates(api, Y)).toEqual([["allowed", y]]);
  });

  test("under a new intent by which its approvals do not suffice", async () => {
    const api = await service(gates());
    const x = await api.bring("approved", release(X));
    const strict = { ...gates(), intent: { policy: { required_approvers: { standard: 2 } } } };
    // Without `adapter: undefined`, the restart would take over the adapter of the first start in place of the targets.
    const now = makeService(await restartDeps(api.deps, { adapter: undefined, ...strict }));
    expect(await readStates(now, X)).toEqual([["waiting", x, containing("consents are missing")]]);
    await now.post("approve", { change_id: x, approver: "bo" });
    expect(await readStates(now, X)).toEqual([["allowed", x]]);
    const forbidden = { ...gates(), intent: { policy: { forbidden_targets: ["deploy/*"] } } };
    const closed = makeService(await restartDeps(now.deps, { adapter: undefined, ...forbidden }));
    expect(await readStates(closed, X)).toEqual([["refused", x, containing("forbid")]]);
  });

  test("with a signature whose key the intent no longer lists, although it was applied", async () => {
    const ANA = passkey();
    const signed = { ...gates(), intent: { principals: { ana: person(ANA) } } };
    const api = await service(signed);
    const { change_id: x } = await api.propose(release(X, { proposer: "agent" }));
    await decide(api, ANA, "approve", { change_id: x, approver: "ana" });
    expect(await readStates(api, X)).toEqual([["allowed", x]]);
    await api.must("apply", x);
    const other = { ...gates(), intent: { principals: { ana: person(passkey()) } } };
    const now = makeService(await restartDeps(api.deps, { adapter: undefined, ...other }));
    expect(await readStates(now, X)).toEqual([["waiting", x, containing("is applied and takes none, so propose")]]);
  });

  test("with a forged approval, where signatures are required", async () => {
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
    expect(await readStates(api, X)).toEqual([["waiting", x, containing("consents are missing")]]);
  });

  test("after its deadline", async () => {
    const policy = { approval_ttl_hours: 1, consent_ttl_hours: 1 };
    const api = await service({ ...gates(), intent: { policy } });
    const x = await api.bring("approved", release(X));
    const { change_id: y } = await api.propose(release(Y));
    api.deps.clock.advance(HOUR + 1);
    expect(await readStates(api, X, Y)).toEqual([
      ["refused", x, containing("longer than the intent allows")],
      ["refused", y, containing("longer than the intent allows")],
    ]);
  });

  test("with a moved target, if the intent blocks stale changes", async () => {
    const api = await service({ ...gates(), intent: { policy: { on_stale: "block" } } });
    const x = await api.bring("approved", release(X));
    const y = await api.bring("applied", release(Y));
    await api.must("rollback", y);
    expect(await readStates(api, X)).toEqual([["allowed", x]]);
    const z = await api.bring("approved", release(Z));
    await api.must("apply", x);
    expect(await readStates(api, Z)).toEqual([["refused", z, containing("the target holds")]]);
  });

  test("with a record that does not match the log, for any requested head", async () => {
    const api = await service(gates());
    await api.bring("applied", release(Y));
    const x = await api.bring("approved", release(X));
    await api.deps.store.transact(async (tx) => {
      const record = (await tx.get("changes", x))!.value;
      const value = { repository_id: 42, environment: "production", head: Z };
      tx.put("changes", x, { ...record, change: { ...record.change, value } });
    });
    for (const head of [X, Y, Z])
      expect(await readStates(api, head)).toEqual([["waiting", x, containing("does not match the log (content)")]]);
  });

  test.each<[what: string, state: string, collection: "live_by_target" | "changes" | "owners", isApplied: boolean]>([
    ["the row of an approved change", "refused", "live_by_target", false],
    ["the record of an approved change", "waiting", "changes", false],
    ["the row of an applied change", "refused", "owners", true],
    ["the record of an applied change", "waiting", "changes", true],
  ])(
    "with %s deleted from the store the release before it is not allowed again",
    async (_, state, collection, isApplied) => {
      const api = await service(gates());
      const { change_id: x } = await api.propose(release(X));
      const { change_id: y } = await api.propose(release(Y));
      await api.must("approve", x);
      if (!isApplied) await api.must("apply", x);
      await api.must("approve", y);
      // Then y has the newest consent, and x holds the target.
      if (isApplied) for (const id of [y, x]) await api.must("apply", id);
      const { store } = api.deps;
      const rows = await store.list(collection, { limit: 100 });
      await store.transact(async (tx) => {
        for (const { id, value } of rows) if (id.includes(y) || value === y) tx.delete(collection, id);
      });
      // A new process, which has not read the log, reads as much of it as the answer needs.
      for (const one of [api, makeService(await restartDeps(api.deps, { adapter: undefined, ...gates() }))])
        expect((await readStates(one, X))[0]!.slice(0, 2)).toEqual([state, state === "waiting" ? y : x]);
    },
  );

  test("with a log that does not verify", async () => {
    const api = await service(gates());
    await api.bring("approved", release(X));
    api.deps.integrity.breach = { first_invalid: 1, reason: "an entry was edited" };
    expect(await readStates(api, X)).toEqual([["waiting", null, containing("the audit chain does not hold")]]);
  });
});

test("a request makes few reads with many approved releases that were never applied", async () => {
  const api = await service(gates());
  const nthHead = (nth: number): string => nth.toString(16).padStart(40, "0");
  for (let nth = 0; nth < 120; nth++) await api.bring("approved", release(nthHead(nth)));
  const { store } = api.deps;
  const transact = store.transact.bind(store);
  let reads = 0;
  const countReads = (run: (tx: Tx) => Promise<unknown>) => (tx: Tx) =>
    run({
      ...tx,
      get: (...of: Parameters<Tx["get"]>) => (reads++, tx.get(...of)),
      getMany: (...of: Parameters<Tx["getMany"]>) => (reads++, tx.getMany(...of)),
      list: (...of: Parameters<Tx["list"]>) => (reads++, tx.list(...of)),
    } as Tx);
  store.transact = ((run: (tx: Tx) => Promise<unknown>) => transact(countReads(run))) as typeof store.transact;
  expect((await readStates(api, X, nthHead(119))).map(([state]) => state)).toEqual(["refused", "allowed"]);
  // For both requests; one read for each of the 120 changes would be more.
  expect(reads).toBeLessThan(60);
});

test("answer=status returns the state as the HTTP status", async () => {
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

test("`page` is the address of the change in the console", async () => {
  const api = await service({ ...gates(), publicUrl: "https://gov.acme.example" });
  const { change_id } = await api.propose(release(X));
  expect((await ask(api, X)).body.page).toBe(`https://gov.acme.example/#/changes/${change_id}`);
});

test("malformed requests and targets without a gate are rejected", async () => {
  const api = await service(gates());
  const readError = async (over: Record<string, string>) => (await ask(api, X, over)).body;
  for (const head of ["", "abc", X.toUpperCase(), `${X}a`, `${X}\n`])
    expect(await readError({ head })).toMatchObject({ code: "invalid_field", fields: [{ field: "head" }] });
  expect(await readError({ answer: "yes" })).toMatchObject({ code: "invalid_field", fields: [{ field: "answer" }] });
  expect(await readError({ sha: X })).toMatchObject({ code: "invalid_field", fields: [{ field: "sha" }] });
  expect(await readError({ target: "ui.banner" })).toMatchObject({ code: "no_target_system" });
  expect(await readError({ tenant_id: "t2" })).toMatchObject({ code: "no_target_system" });
  // Without --targets every target may be requested.
  for (const options of [{}, { adapter: scriptedAdapter() }])
    expect((await ask(await service(options), X, { target: "ui.banner" })).body.state).toBe("refused");
});

describe("a proposal to a gate", () => {
  const deploy = (members: object) => ({ target: TARGET, value: JSON.stringify(members) });
  const complete = { repository_id: 42, environment: "production", head: X };
  test.each<[string, object]>([
    ["without a value", { target: TARGET }],
    ["without repository_id", deploy({ ...complete, repository_id: undefined })],
    ["of another repository", deploy({ ...complete, repository_id: 43 })],
    ["with a text as repository_id", deploy({ ...complete, repository_id: "42" })],
    ["of another environment", deploy({ ...complete, environment: "staging" })],
    ["with a short head", deploy({ ...complete, head: "abc" })],
    ["whose target names no repository", { ...deploy(complete), target: "deploy/shop/production" }],
    ["whose target names no environment", { ...deploy(complete), target: "deploy/42" }],
    ["of a list", { target: TARGET, value: "[]" }],
    ["of another tool without a head", { target: "terraform/ws-1", value: '{"run":1}' }],
  ])("%s is rejected", async (_, fields) => {
    const api = await service(gates());
    const reply = await api.post("propose", { tenant_id: "t1", kind: "config", summary: "Release", ...fields });
    expect(reply).toMatchObject({ status: 400, body: { code: "value_not_allowed" } });
  });

  test("of another tool with any head is accepted", async () => {
    const api = await service(gates());
    const id = await api.bring("approved", { target: "terraform/ws-1", value: JSON.stringify({ head: Z, run: 1 }) });
    expect((await ask(api, Z, { target: "terraform/ws-1" })).body).toMatchObject({ state: "allowed", change_id: id });
  });
});
