/** Actions after a clock that ran ahead dated the last entry, and accept-clock, which makes the other actions possible again. */
import { describe, expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { PROPOSAL } from "../../support/client.ts";
import { DAY, HOUR, MINUTE } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { fails, makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service } from "../../support/service.ts";
import { postSignedAction, person, proofFields, requestStatement } from "../../support/signed.ts";

const AHEAD_MS = 400 * DAY;
const CLOCK_BEHIND_ERROR = { status: 503, body: { code: "clock_behind" } };
const acceptClock = (api: Pick<Core, "post">, fields: object = { actor: "ops", note: "it ran ahead" }) =>
  api.post("audit/accept-clock", { ...fields });

/** Writes an entry while the clock is 400 days ahead, and corrects the clock. */
async function writeAhead<A extends Core>(api: A): Promise<A> {
  api.deps.clock.shift(AHEAD_MS);
  await api.post("kpi", { csat: 4 });
  api.deps.clock.shift(-AHEAD_MS);
  return api;
}

describe("while the clock is far behind the log", () => {
  test("governed writes are rejected with both times and the request that resolves it", async () => {
    const api = await core();
    const change_id = await api.bring("approved");
    await writeAhead(api);
    const { length, at } = (await readHead(api.deps.store))!;
    for (const [path, fields] of [
      ["propose", PROPOSAL],
      ["apply", { change_id }],
      ["approve", { change_id, approver: "bo" }],
      ["kpi", { csat: 5 }],
      ["unfreeze", { actor: "ops" }],
    ] as const) {
      const rejected = await api.post(path, { ...fields });
      expect(rejected).toMatchObject(CLOCK_BEHIND_ERROR);
      for (const part of [api.deps.clock.iso(), at, "POST /api/product/audit/accept-clock"])
        expect(rejected.body.error).toContain(part);
    }
    expect((await readHead(api.deps.store))!.length).toBe(length);
  });

  test("deny, revoke and freeze work, and record the time of the clock", async () => {
    const api = await core();
    const [pending, approved] = [await api.bring("pending_consent"), await api.bring("approved", { target: "b" })];
    await writeAhead(api);
    const { at } = (await readHead(api.deps.store))!;
    expect((await api.act("deny", pending)).status).toBe(200);
    expect((await api.post("revoke", { change_id: approved, approver: "ana" })).status).toBe(200);
    expect((await api.post("freeze", { actor: "ops" })).status).toBe(200);
    for (const { timestamp, detail } of (await api.audit()).slice(-3))
      expect([timestamp, JSON.parse(detail).clock]).toEqual([at, api.deps.clock.iso()]);
    expect(chainFault(await api.audit())).toBeNull();
  });

  test("a rollback works, is dated by the last entry, and records the time of the clock", async () => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const [first, second] = [await api.bring("applied"), await api.bring("applied", { target: "ui.other" })];
    await writeAhead(api);
    const { at } = (await readHead(api.deps.store))!;
    adapter.on("rollback", fails("away"), 1);
    expect((await api.act("rollback", first)).status).toBe(502);
    expect((await api.act("rollback", first)).status).toBe(200);
    // Without an adapter a rollback is only recorded.
    expect((await makeCore(await restartDeps(api.deps, { adapter: undefined })).act("rollback", second)).status).toBe(
      200,
    );
    const entries = (await api.audit()).slice(-3);
    expect(entries.map(({ event_type }) => event_type)).toEqual([
      "change_rollback_failed",
      "change_rolled_back",
      "change_rolled_back",
    ]);
    for (const { timestamp, detail } of entries)
      expect([timestamp, JSON.parse(detail).clock]).toEqual([at, api.deps.clock.iso()]);
    expect(adapter.host.get(first)).toBe("rolled_back");
    expect(chainFault(await api.audit())).toBeNull();
  });

  test("an apply that was running is recorded, and it and an earlier apply can be rolled back", async () => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const applied = await api.bring("applied");
    const change_id = await api.bring("approved");
    const [applyBegan, mayEnd] = [makeBarrier(), makeBarrier()];
    adapter.on("apply", () => (applyBegan.open(), mayEnd.opened), 1);
    const running = api.act("apply", change_id);
    await applyBegan.opened;
    await writeAhead(api);
    mayEnd.open();
    expect((await running).status).toBe(200);
    expect((await api.act("rollback", change_id)).status).toBe(200);
    expect((await api.act("rollback", applied)).status).toBe(200);
  });

  test("the service is not ready, with a reason, until the clock is accepted", async () => {
    const api = await service();
    await writeAhead(api as unknown as Core);
    const readClockCheck = async () => {
      const { status, body } = await api.get("/readyz");
      return [status, body.checks.clock] as const;
    };
    expect(await readClockCheck()).toEqual([503, { ok: false, reason: expect.stringContaining("accept-clock") }]);
    expect((await acceptClock(api)).status).toBe(200);
    expect(await readClockCheck()).toEqual([200, { ok: true, reason: null }]);
  });
});

describe("accept-clock", () => {
  test("writes an entry dated before the previous one, and later entries follow the clock", async () => {
    const api = await writeAhead(await core());
    const { at: last } = (await readHead(api.deps.store))!;
    const { status, body } = await acceptClock(api);
    expect([status, body.at, body.last]).toEqual([200, api.deps.clock.iso(), last]);
    expect(body.audit_entry).toMatchObject({ event_type: "clock_accepted", timestamp: api.deps.clock.iso() });
    expect(JSON.parse(body.audit_entry.detail)).toEqual({
      actor: "ops",
      authenticated: "claimed",
      note: "it ran ahead",
      manifest_hash: api.deps.product!.manifest_hash,
      last,
    });
    api.deps.clock.advance(HOUR);
    await api.bring("applied");
    expect((await api.audit()).at(-1).timestamp).toBe(api.deps.clock.iso());
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
    expect(chainFault(await api.audit())).toBeNull();
    // Writes are rejected again when the clock falls behind later.
    api.deps.clock.shift(-2 * DAY);
    expect(await api.post("propose", PROPOSAL)).toMatchObject(CLOCK_BEHIND_ERROR);
  });

  test("under a new manifest first records the manifest, dated like the previous entry", async () => {
    const before = await writeAhead(await core());
    const api = makeCore(await restartDeps(before.deps, { intent: { version: "2" } }));
    expect((await acceptClock(api)).status).toBe(200);
    const [kpiEntry, intentEntry, clockEntry] = (await api.audit()).slice(-3);
    expect([intentEntry.event_type, intentEntry.timestamp]).toEqual(["intent_in_force", kpiEntry.timestamp]);
    expect([clockEntry.event_type, clockEntry.timestamp]).toEqual(["clock_accepted", api.deps.clock.iso()]);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("is rejected if the clock is not behind, and without a name", async () => {
    const api = await core();
    await api.propose();
    expect(await acceptClock(api)).toMatchObject({ status: 400, body: { code: "illegal_transition", allowed: [] } });
    await writeAhead(api);
    expect(await acceptClock(api, { note: "x" })).toMatchObject({ status: 400, body: { code: "invalid_field" } });
    const idempotencyKey = { "idempotency-key": "k" };
    const first = await api.post("audit/accept-clock", { actor: "ops" }, idempotencyKey);
    expect((await api.post("audit/accept-clock", { actor: "ops" }, idempotencyKey)).body).toEqual(first.body);
    // The clock is no longer behind, so a request that is no repetition is rejected.
    expect((await acceptClock(api)).status).toBe(400);
  });

  test("lets a lease that was taken by the wrong clock expire", async () => {
    const adapter = scriptedAdapter();
    const before = await core({ adapter, owner: "one" });
    const change_id = await before.bring("approved");
    before.deps.clock.shift(AHEAD_MS);
    await before.post("kpi", { csat: 4 });
    const applyBegan = makeBarrier();
    adapter.on("apply", () => (applyBegan.open(), new Promise(() => {})), 1);
    void before.act("apply", change_id);
    await applyBegan.opened;
    before.deps.clock.shift(-AHEAD_MS);
    const api = makeCore(await restartDeps(before.deps, { owner: "two" }));
    expect((await acceptClock(api)).status).toBe(200);
    api.deps.clock.advance(HOUR);
    expect((await api.cycle()).recovered).toBe(1);
    expect((await api.act("apply", change_id)).status).toBe(200);
  });
});

describe("the caller of accept-clock", () => {
  const [ANA, BO] = [passkey(), sshSigner()];
  const agent = "a".repeat(40);

  test("holds the admin token, and is no agent", async () => {
    const sha256 = (await core()).deps.sha256;
    const principals = { "agent:x": { kind: "agent", token_sha256: sha256(agent) } };
    const api = await writeAhead(await core({ intent: { principals }, adminToken: undefined }));
    const guarded = makeCore(Object.assign(api.deps, { adminToken: "s".repeat(16) }));
    expect((await acceptClock(guarded)).status).toBe(401);
    const token = { "x-svc-admin-token": "s".repeat(16) };
    const bothCredentials = { ...token, authorization: `Bearer ${agent}` };
    const rejected = await guarded.post("audit/accept-clock", { actor: "ops" }, bothCredentials);
    expect(rejected).toMatchObject({ status: 403, body: { code: "agent_may_not" } });
    const asAgentName = await guarded.post("audit/accept-clock", { actor: "agent:x" }, token);
    expect(asAgentName).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
    const { status, body } = await guarded.post("audit/accept-clock", { actor: "ops" }, token);
    expect([status, JSON.parse(body.audit_entry.detail).authenticated]).toEqual([200, "token"]);
  });

  test("is the person whom the proxy names", async () => {
    const api = await core({ identityHeader: "x-person" });
    const ana = { "x-person": "ana" };
    api.deps.clock.shift(AHEAD_MS);
    await api.post("kpi", { csat: 4 }, ana);
    api.deps.clock.shift(-AHEAD_MS);
    expect(await acceptClock(api)).toMatchObject({ status: 403, body: { code: "person_required" } });
    expect((await api.post("audit/accept-clock", { actor: "bo" }, ana)).body.code).toBe("identity_mismatch");
    const { body } = await api.post("audit/accept-clock", {}, ana);
    expect(JSON.parse(body.audit_entry.detail)).toMatchObject({ actor: "ana", authenticated: "proxy" });
  });

  test("signs if the intent has keys, and each signature works once", async () => {
    const principals = { ana: person(ANA), bo: person(BO), eve: { kind: "person" } };
    const api = await writeAhead(await core({ intent: { principals } }));
    for (const actor of ["ana", "eve", "nobody"])
      expect(await acceptClock(api, { actor })).toMatchObject({ status: 403, body: { code: "proof_required" } });
    const statement = await requestStatement(api, { decision: "accept_clock", approver: "ana" });
    expect(JSON.parse(statement)).toMatchObject({ decision: "accept_clock", actor: "ana", note: "" });
    const proof = proofFields(ANA, statement);
    expect((await acceptClock(api, { actor: "ana", note: "other", ...proof })).body.code).toBe("proof_invalid");
    expect((await acceptClock(api, { actor: "bo", ...proof })).body.code).toBe("proof_invalid");
    expect((await acceptClock(api, { actor: "ana", ...proof })).status).toBe(200);
    // The clock is behind again: only the used signature is a reason to reject the request.
    api.deps.clock.shift(-MINUTE);
    expect((await acceptClock(api, { actor: "ana", ...proof })).body.code).toBe("proof_invalid");
    expect((await postSignedAction(api, BO, "accept_clock", { actor: "bo", note: "again" })).status).toBe(200);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });
});
