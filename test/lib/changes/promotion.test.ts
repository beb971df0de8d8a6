/** Promotion rules (a value must be applied in one tenant or system before another), and proposals that promote a change. */
import { describe, expect, test } from "vitest";
import { portableSha256, systemClock } from "../../../lib/kit/platform.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { DAY, HOUR, MINUTE, pass } from "../../support/clock.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { formatTargetChangeKey } from "../../../lib/changes/records.ts";
import { openRollout } from "../../support/rollouts.ts";
import { service, type TestService } from "../../support/service.ts";

const RULE = { to: ["tenant:production"], from: ["tenant:staging"] };
const serviceWithRule = (overrides: object = {}, policy: object = {}) =>
  service({
    intent: {
      policy: { promotion: [{ ...RULE, ...overrides }], ...policy },
      kpis: { csat: { baseline: 5, target: 6 } },
    },
  });
const proposalFor = (tenant_id: string, value: unknown, overrides: object = {}) => ({
  ...{ tenant_id, kind: "config", target: "limits.seats", summary: "s", value: JSON.stringify(value) },
  ...overrides,
});
const bring = (api: TestService, status: "approved" | "applied", fields: object): Promise<string> =>
  api.bring(status, fields as never);
/** Applies a change; returns "applied", or the status and the error code. */
const tryApply = async (api: TestService, change_id: string): Promise<string> => {
  const { status, body } = await api.act("apply", change_id);
  return status === 200 ? "applied" : `${status} ${body.code}`;
};
const readGate = async (api: TestService, change_id: string) =>
  (await api.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "promotion");

/** Steps of a rollout with one step before full exposure. */
const ONE_STEP = { steps: [{ share: 1000, advance: "budget", min_hours: 24 }] };
const NOT_READY = "409 promotion_not_ready";

describe("a change that a promotion rule binds", () => {
  test("can be applied once its value has been applied in staging for soak_hours", async () => {
    const api = await serviceWithRule({ soak_hours: 24 });
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    expect(await readGate(api, change_id)).toMatchObject({
      state: "block",
      message: expect.stringContaining("tenant:staging has nothing applied on it"),
    });
    await bring(api, "applied", proposalFor("staging", 50));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(DAY - MINUTE);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("which is long enough at 2026-01-03T03:04:05.678Z");
    api.deps.clock.advance(MINUTE);
    expect(await readGate(api, change_id)).toBeUndefined();
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test.each([
    ["another value", [proposalFor("staging", 51)]],
    ["another target", [proposalFor("staging", 50, { target: "limits.teams" })]],
    ["the value of another tenant only", [proposalFor("test", 50)]],
    ["a later value that replaced the same one", [proposalFor("staging", 50), proposalFor("staging", 51)]],
  ])("is not ready with %s applied in staging", async (_, applied) => {
    const api = await serviceWithRule();
    for (const fields of applied) await bring(api, "applied", fields);
    expect(await tryApply(api, await bring(api, "approved", proposalFor("production", 50)))).toBe(NOT_READY);
  });

  test("is not ready after a rollback in staging, and ready if only the member order differs", async () => {
    const api = await serviceWithRule();
    const first = await bring(api, "applied", proposalFor("staging", { a: 1, b: 2 }));
    const change_id = await bring(
      api,
      "approved",
      proposalFor("production", { b: 2, a: 1 }, { target: "Limits.Seats" }),
    );
    await api.must("rollback", first);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    await bring(api, "applied", proposalFor("staging", { a: 1, b: 2 }));
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test("is not ready while the outcome in staging has a verdict of verdict_not", async () => {
    const api = await serviceWithRule({ verdict_not: ["regressed", "too_early"] });
    await api.json("kpi", { csat: 5 });
    await bring(api, "applied", proposalFor("staging", 50, { kpi: "csat", expected_delta_k: 0.1 }));
    await api.json("kpi", { csat: 4 });
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("whose outcome is too_early");
    // An outcome is final after seven days, once a cycle has evaluated it.
    api.deps.clock.advance(8 * DAY);
    expect((await readGate(api, change_id)).message).toContain("whose outcome the next cycle evaluates");
    await pass(api.deps, MINUTE);
    expect((await runCycle(api.deps)).outcomes_closed).toBe(1);
    expect((await readGate(api, change_id)).message).toContain("whose outcome is regressed");
    await api.json("kpi", { csat: 6 });
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
  });

  test("is not ready if the value in staging was edited outside the service", async () => {
    const target = memoryTarget();
    const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
    const api = await service({ adapter, intent: { policy: { promotion: [RULE] } } });
    await bring(api, "applied", proposalFor("staging", 50));
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    target.overwrite({ tenant_id: "staging", target: "limits.seats", kind: "config" }, "49");
    await runCycle(api.deps);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("it was changed outside");
  });

  test("has its soak time counted from the rollback that restored the value in staging", async () => {
    const api = await serviceWithRule({ soak_hours: 24 });
    await bring(api, "applied", proposalFor("staging", 50));
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    const later = await bring(api, "applied", proposalFor("staging", 51));
    api.deps.clock.advance(2 * DAY);
    await api.must("rollback", later);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    // A day later the value has been in staging for soak_hours.
    api.deps.clock.advance(DAY);
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test("has its soak time restarted by a restore in staging", async () => {
    const target = memoryTarget();
    const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
    const api = await service({ adapter, intent: { policy: { promotion: [{ ...RULE, soak_hours: 24 }] } } });
    const edited = await bring(api, "applied", proposalFor("staging", 50));
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    target.overwrite({ tenant_id: "staging", target: "limits.seats", kind: "config" }, "49");
    api.deps.clock.advance(DAY);
    await runCycle(api.deps);
    await api.post("restore", { change_id: edited, actor: "ana" });
    await runCycle(api.deps);
    expect((await api.get("drift")).body.drifted).toEqual([]);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(DAY);
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test("is not ready with a change of another kind, or during an operation in staging", async () => {
    const api = await serviceWithRule();
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    await bring(api, "applied", proposalFor("staging", 50, { kind: "experiment" }));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    const owner = await bring(api, "applied", proposalFor("staging", 50));
    const leaseKey = formatTargetChangeKey({ tenant_id: "staging", target: "limits.seats", change_id: owner });
    await api.deps.store.transact(async (tx) =>
      tx.put("leases", leaseKey, { change_id: owner, state: "unresolved" } as never),
    );
    expect((await readGate(api, change_id)).message).toContain("an operation is under way");
    await api.deps.store.transact(async (tx) => tx.delete("leases", leaseKey));
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test("is not ready if the staging record was deleted, and the inbox still works", async () => {
    const api = await serviceWithRule();
    const deleted = await bring(api, "applied", proposalFor("staging", 50));
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    await api.deps.store.transact(async (tx) => tx.delete("changes", deleted));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    expect((await api.get("/api/inbox")).status).toBe(200);
  });

  test("is matched by its tenant in any Unicode form", async () => {
    const api = await serviceWithRule({ to: ["tenant:cafe\u0301"] });
    expect(await tryApply(api, await bring(api, "approved", proposalFor("caf\u00e9", 50)))).toBe(NOT_READY);
  });

  test("is not ready if the staging record was edited, which cannot be promoted either", async () => {
    const api = await serviceWithRule();
    const promotes = await bring(api, "applied", proposalFor("staging", 51));
    const change_id = await bring(api, "approved", proposalFor("production", 50));
    const { value: record } = (await api.deps.store.get("changes", promotes))!;
    const forged = { ...record, change: { ...record.change, value: 50 } };
    await api.deps.store.transact(async (tx) => tx.put("changes", promotes, forged));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    const { status, body } = await api.json("propose", { tenant_id: "production", summary: "s", promotes });
    expect([status, body.code]).toEqual([409, "evidence_mismatch"]);
  });

  test("has its soak time counted from the last step of a rollout in staging", async () => {
    const staged = { tenant_id: "staging", value: "50", target: "limits.seats" };
    const promotion = [{ ...RULE, soak_hours: 48 }];
    const { api, passHours, feedNow, exposure } = await openRollout({
      policy: { promotion },
      proposal: staged,
      stages: ONE_STEP,
    });
    const change_id = await api.bring("approved", proposalFor("production", 50) as never);
    expect((await api.act("apply", change_id)).body.error).toContain("still being rolled out");
    passHours(24);
    await feedNow();
    expect((await exposure())!.share).toBe(10_000);
    passHours(25); // 49 hours after the first step, and 25 after the last
    expect((await api.act("apply", change_id)).body.code).toBe("promotion_not_ready");
    passHours(23);
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("does not advance as a rollout while its value is not applied in staging", async () => {
    const { api, passHours, feedNow, exposure } = await openRollout({
      proposal: { tenant_id: "production", value: "50" },
    });
    // The rule is set after the first step, whose apply it would block.
    const policy = { ...api.deps.product!.intent.policy, promotion: [{ ...RULE, soak_hours: 0, verdict_not: [] }] };
    api.deps.product = { ...api.deps.product!, intent: { ...api.deps.product!.intent, policy } };
    passHours(24);
    await feedNow();
    expect(await exposure()).toMatchObject({ step: 0, waits_for: "promotion_not_ready" });
  });

  test("is applied with an emergency consent, and a dry run always works", async () => {
    const break_glass = { approvers: ["ana"], review_hours: 24 };
    const api = await serviceWithRule({}, { break_glass });
    const { change_id } = await api.propose(proposalFor("production", 50));
    await api.post("approve", { change_id, approver: "ana", note: "outage", emergency: "true" });
    expect((await readGate(api, change_id)).state).toBe("warn");
    expect((await api.post("apply", { change_id, dry_run: "true" })).status).toBe(200);
    expect(await tryApply(api, change_id)).toBe("applied");
    const other = await bring(api, "approved", proposalFor("production", 51));
    expect((await api.post("apply", { change_id: other, dry_run: "true" })).status).toBe(200);
  });

  test("has the tenant that the rule names, with or without a value", async () => {
    const api = await serviceWithRule();
    expect(await tryApply(api, await bring(api, "approved", proposalFor("test", 50)))).toBe("applied");
    const { value: _, ...withoutValue } = proposalFor("production", 0);
    expect(await tryApply(api, await bring(api, "approved", withoutValue))).toBe(NOT_READY);
  });
});

describe("a promotion rule between systems", () => {
  const openWithSystems = async (rule: object, staging = ["staging/*"], late = ["other/*"]) => {
    const systems = Object.entries({ staging, live: ["live/*"], late }).map(([name, match]) => ({
      name,
      match,
      adapter: targetAdapter(memoryTarget().system, { store: memoryStore(), clock: systemClock }),
    }));
    return service({ adapter: routingAdapter(systems), intent: { policy: { promotion: [rule] } } });
  };

  test("compares targets by the part that the pattern leaves open", async () => {
    const api = await openWithSystems({ to: ["system:live"], from: ["system:staging"] });
    const change_id = await bring(api, "approved", proposalFor("t1", 50, { target: "live/seats" }));
    await bring(api, "applied", proposalFor("t1", 50, { target: "staging/teams" }));
    await bring(api, "applied", proposalFor("t2", 50, { target: "staging/seats" }));
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    await bring(api, "applied", proposalFor("t1", 50, { target: "staging/seats" }));
    expect(await tryApply(api, change_id)).toBe("applied");
  });

  test.each([
    ["accepts the target of a pattern without *", ["seats"], "seats", true],
    ["does not accept another target for a pattern without *", ["teams"], "teams", false],
    ["does not accept a pattern with several *", ["*/staging/*"], "a/staging/seats", false],
  ])("%s", async (_, match, target, isMet) => {
    const api = await openWithSystems({ to: ["system:live"], from: ["system:staging"] }, match);
    const change_id = await bring(api, "approved", proposalFor("t1", 50, { target: "live/seats" }));
    await bring(api, "applied", proposalFor("t1", 50, { target }));
    expect(await tryApply(api, change_id)).toBe(isMet ? "applied" : NOT_READY);
  });

  test("does not accept a target that an earlier system covers", async () => {
    const api = await openWithSystems({ to: ["system:live"], from: ["system:late"] }, ["late/*"], ["late/*"]);
    await bring(api, "applied", proposalFor("t1", 50, { target: "late/seats" }));
    const change_id = await bring(api, "approved", proposalFor("t1", 50, { target: "live/seats" }));
    expect((await readGate(api, change_id)).message).toContain("system:late has no such target");
  });

  test.each([
    [{ to: ["system:live"], from: ["system:stage"] }, "stage"],
    [{ to: ["system:lives"], from: ["tenant:staging"] }, "lives"],
  ])("is rejected at the start if it names an unknown system: %j", async (rule, name) => {
    await expect(openWithSystems(rule)).rejects.toThrow(
      `policy.promotion names the target system ${name}, and there are staging`,
    );
    await expect(service({ intent: { policy: { promotion: [rule] } } })).rejects.toThrow(
      "no target system is configured",
    );
  });

  test("lets a change be promoted to the other system", async () => {
    const api = await openWithSystems({ to: ["system:live"], from: ["system:staging"], soak_hours: 1 });
    const promotes = await bring(api, "applied", proposalFor("t1", 50, { target: "staging/seats" }));
    const body = { tenant_id: "t1", target: "live/seats", summary: "Promote", promotes };
    const { change_id } = (await api.json("propose", body)).body;
    await api.must("approve", change_id);
    expect(await tryApply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(HOUR);
    expect(await tryApply(api, change_id)).toBe("applied");
  });
});

describe("a proposal that promotes a change", () => {
  const PROMOTION = { tenant_id: "production", summary: "Promote the seats" };

  test("copies kind, target and value of that change, and nothing else", async () => {
    const api = await serviceWithRule();
    const promotes = await bring(
      api,
      "applied",
      proposalFor("staging", { seats: 50 }, { risk: "high", kpi: "csat", rationale: "r" }),
    );
    const { status, body } = await api.json("propose", { ...PROMOTION, promotes });
    expect([status, body]).toMatchObject([
      201,
      {
        kind: "config",
        target: "limits.seats",
        value: { seats: 50 },
        promotes,
        kpi: null,
        rationale: "",
        risk: "medium",
      },
    ]);
    expect((await api.change(body.change_id)).promotes).toBe(promotes);
  });

  test.each([
    [{ value: 51 }, 400, "value belongs to the change"],
    [{ kind: "config" }, 400, "kind belongs to the change"],
    [{ tenant_id: "staging" }, 400, "tenant_id is where"],
    [{ promotes: "chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1" }, 404, "there is no change"],
  ])("with %j is answered %i: %s", async (fields, status, message) => {
    const api = await serviceWithRule();
    const promotes = await bring(api, "applied", proposalFor("staging", 50));
    const reply = await api.json("propose", { ...PROMOTION, promotes, ...fields });
    expect([reply.status, reply.body.error]).toEqual([status, expect.stringContaining(message)]);
  });

  test("need not name kind and target, which are required otherwise", async () => {
    const { body } = await (await serviceWithRule()).json("propose", PROMOTION);
    expect(body.fields.map(({ field }: { field: string }) => field)).toEqual(["kind", "target"]);
  });

  test("is 404 for an agent with `read: own` and another's change", async () => {
    const token_sha256 = portableSha256("secret");
    const principals = { "agent:own": { kind: "agent", token_sha256, may: { read: "own" } } };
    const api = await service({ intent: { principals } });
    const promotes = await bring(api, "applied", proposalFor("staging", 50));
    const { status, body } = await api.json("propose", { ...PROMOTION, promotes }, { authorization: "Bearer secret" });
    expect([status, body.code]).toEqual([404, "change_not_found"]);
  });

  test("is 403 for a name other than the proxy's, before the change is looked up", async () => {
    const api = await service({ identityHeader: "x-user" });
    const promotes = "chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1";
    const body = { ...PROMOTION, promotes, proposer: "bo" };
    const { status, body: answer } = await api.json("propose", body, { "x-user": "ana" });
    expect([status, answer.code]).toEqual([403, "identity_mismatch"]);
  });

  test("is rejected if the content of that change was erased", async () => {
    const api = await serviceWithRule();
    const promotes = await bring(api, "applied", proposalFor("staging", 50));
    await api.must("rollback", promotes);
    await api.post("erase", { change_id: promotes, actor: "ana", note: "asked for" });
    const { status, body } = await api.json("propose", { ...PROMOTION, promotes });
    expect([status, body.error]).toEqual([400, expect.stringContaining("erased")]);
  });
});
