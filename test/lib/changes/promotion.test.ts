/** Values that must prove themselves in one place before they are applied in another, and proposals that promote a change. */
import { describe, expect, test } from "vitest";
import { portableSha256, systemClock } from "../../../lib/kit/platform.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { DAY, HOUR, MINUTE, pass } from "../../support/clock.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { formatTargetChangeKey } from "../../../lib/changes/records.ts";
import { rollout } from "../../support/rollouts.ts";
import { service, type TestService } from "../../support/service.ts";

const RULE = { to: ["tenant:production"], from: ["tenant:staging"] };
const governed = (over: object = {}, policy: object = {}) =>
  service({
    intent: { policy: { promotion: [{ ...RULE, ...over }], ...policy }, kpis: { csat: { baseline: 5, target: 6 } } },
  });
const at = (tenant_id: string, value: unknown, over: object = {}) => ({
  ...{ tenant_id, kind: "config", target: "limits.seats", summary: "s", value: JSON.stringify(value) },
  ...over,
});
const bring = (api: TestService, status: "approved" | "applied", fields: object): Promise<string> =>
  api.bring(status, fields as never);
const apply = async (api: TestService, change_id: string): Promise<string> => {
  const { status, body } = await api.act("apply", change_id);
  return status === 200 ? "applied" : `${status} ${body.code}`;
};
const readGate = async (api: TestService, change_id: string) =>
  (await api.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "promotion");

/** A plan whose first step is the last. */
const ONE_STEP = { steps: [{ share: 1000, advance: "budget", min_hours: 24 }] };
const NOT_READY = "409 promotion_not_ready";

describe("a value that must be applied elsewhere first", () => {
  test("waits for it, says why, and is applied once it is there for long enough", async () => {
    const api = await governed({ soak_hours: 24 });
    const change_id = await bring(api, "approved", at("production", 50));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    expect(await readGate(api, change_id)).toMatchObject({
      state: "block",
      message: expect.stringContaining("tenant:staging has nothing applied on it"),
    });
    await bring(api, "applied", at("staging", 50));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(DAY - MINUTE);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("which is long enough at 2026-01-03T03:04:05.678Z");
    api.deps.clock.advance(MINUTE);
    expect(await readGate(api, change_id)).toBeUndefined();
    expect(await apply(api, change_id)).toBe("applied");
  });

  test.each([
    ["another value", [at("staging", 51)]],
    ["another target", [at("staging", 50, { target: "limits.teams" })]],
    ["another tenant", [at("test", 50)]],
    ["a later value over it", [at("staging", 50), at("staging", 51)]],
  ])("%s is not it", async (_, applied) => {
    const api = await governed();
    for (const fields of applied) await bring(api, "applied", fields);
    expect(await apply(api, await bring(api, "approved", at("production", 50)))).toBe(NOT_READY);
  });

  test("a value that was rolled back there is not it, and one whose members have another order is", async () => {
    const api = await governed();
    const first = await bring(api, "applied", at("staging", { a: 1, b: 2 }));
    const change_id = await bring(api, "approved", at("production", { b: 2, a: 1 }, { target: "Limits.Seats" }));
    await api.must("rollback", first);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    await bring(api, "applied", at("staging", { a: 1, b: 2 }));
    expect(await apply(api, change_id)).toBe("applied");
  });

  test("a verdict that the rule names holds it back until the outcome has another", async () => {
    const api = await governed({ verdict_not: ["regressed", "too_early"] });
    await api.json("kpi", { csat: 5 });
    await bring(api, "applied", at("staging", 50, { kpi: "csat", expected_delta_k: 0.1 }));
    await api.json("kpi", { csat: 4 });
    const change_id = await bring(api, "approved", at("production", 50));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("whose outcome is too_early");
    api.deps.clock.advance(8 * DAY);
    expect((await readGate(api, change_id)).message).toContain("whose outcome the next cycle evaluates");
    for (let sample = 0; sample < 2; sample++) await pass(api.deps, MINUTE);
    expect((await runCycle(api.deps)).outcomes_closed).toBe(1);
    expect((await readGate(api, change_id)).message).toContain("whose outcome is regressed");
    await api.json("kpi", { csat: 6 });
    expect(await apply(api, change_id)).toBe(NOT_READY);
  });

  test("a value that was changed outside there is not it", async () => {
    const target = memoryTarget();
    const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
    const api = await service({ adapter, intent: { policy: { promotion: [RULE] } } });
    await bring(api, "applied", at("staging", 50));
    const change_id = await bring(api, "approved", at("production", 50));
    target.overwrite({ tenant_id: "staging", target: "limits.seats", kind: "config" }, "49");
    await runCycle(api.deps);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    expect((await readGate(api, change_id)).message).toContain("it was changed outside");
  });

  test("time counts from when the value was there again", async () => {
    const api = await governed({ soak_hours: 24 });
    await bring(api, "applied", at("staging", 50));
    const change_id = await bring(api, "approved", at("production", 50));
    const over = await bring(api, "applied", at("staging", 51));
    api.deps.clock.advance(2 * DAY);
    await api.must("rollback", over);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    // A day later it has held the value for long enough.
    api.deps.clock.advance(DAY);
    expect(await apply(api, change_id)).toBe("applied");
  });

  test("an edit there that was restored starts the time again", async () => {
    const target = memoryTarget();
    const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
    const api = await service({ adapter, intent: { policy: { promotion: [{ ...RULE, soak_hours: 24 }] } } });
    const edited = await bring(api, "applied", at("staging", 50));
    const change_id = await bring(api, "approved", at("production", 50));
    target.overwrite({ tenant_id: "staging", target: "limits.seats", kind: "config" }, "49");
    api.deps.clock.advance(DAY);
    await runCycle(api.deps);
    await api.post("restore", { change_id: edited, actor: "ana" });
    await runCycle(api.deps);
    expect((await api.get("drift")).body.drifted).toEqual([]);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(DAY);
    expect(await apply(api, change_id)).toBe("applied");
  });

  test("a value of another kind is not it, nor one whose target is being worked on", async () => {
    const api = await governed();
    const change_id = await bring(api, "approved", at("production", 50));
    await bring(api, "applied", at("staging", 50, { kind: "experiment" }));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    const owner = await bring(api, "applied", at("staging", 50));
    const place = formatTargetChangeKey({ tenant_id: "staging", target: "limits.seats", change_id: owner });
    await api.deps.store.transact(async (tx) =>
      tx.put("leases", place, { change_id: owner, state: "unresolved" } as never),
    );
    expect((await readGate(api, change_id)).message).toContain("an operation is under way");
    await api.deps.store.transact(async (tx) => tx.delete("leases", place));
    expect(await apply(api, change_id)).toBe("applied");
  });

  test("a record there that is gone holds it back, and no page fails for it", async () => {
    const api = await governed();
    const gone = await bring(api, "applied", at("staging", 50));
    const change_id = await bring(api, "approved", at("production", 50));
    await api.deps.store.transact(async (tx) => tx.delete("changes", gone));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    expect((await api.get("/api/inbox")).status).toBe(200);
  });

  test("a tenant is the same in each Unicode form", async () => {
    const api = await governed({ to: ["tenant:cafe\u0301"] });
    expect(await apply(api, await bring(api, "approved", at("caf\u00e9", 50)))).toBe(NOT_READY);
  });

  test("a record there that does not match the log is not it, and cannot be promoted", async () => {
    const api = await governed();
    const promotes = await bring(api, "applied", at("staging", 51));
    const change_id = await bring(api, "approved", at("production", 50));
    const { value: record } = (await api.deps.store.get("changes", promotes))!;
    const forged = { ...record, change: { ...record.change, value: 50 } };
    await api.deps.store.transact(async (tx) => tx.put("changes", promotes, forged));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    const { status, body } = await api.json("propose", { tenant_id: "production", summary: "s", promotes });
    expect([status, body.code]).toEqual([409, "evidence_mismatch"]);
  });

  test("a rollout there counts from its last step, and one that is bound advances by the rule", async () => {
    const staged = { tenant_id: "staging", value: "50", target: "limits.seats" };
    const promotion = [{ ...RULE, soak_hours: 48 }];
    const { api, hours, feedNow, exposure } = await rollout({
      policy: { promotion },
      proposal: staged,
      stages: ONE_STEP,
    });
    const change_id = await api.bring("approved", at("production", 50) as never);
    expect((await api.act("apply", change_id)).body.error).toContain("still being rolled out");
    hours(24);
    await feedNow();
    expect((await exposure())!.share).toBe(10_000);
    hours(25);
    expect((await api.act("apply", change_id)).body.code).toBe("promotion_not_ready");
    hours(23);
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("a rollout that is bound goes no further once its value is gone elsewhere", async () => {
    const { api, hours, feedNow, exposure } = await rollout({ proposal: { tenant_id: "production", value: "50" } });
    const promoted = { ...api.deps.product!.intent.policy, promotion: [{ ...RULE, soak_hours: 0, verdict_not: [] }] };
    api.deps.product = { ...api.deps.product!, intent: { ...api.deps.product!.intent, policy: promoted } };
    hours(24);
    await feedNow();
    expect(await exposure()).toMatchObject({ step: 0, waits_for: "promotion_not_ready" });
  });

  test("an emergency passes it, and a dry run is not asked", async () => {
    const break_glass = { approvers: ["ana"], review_hours: 24 };
    const api = await governed({}, { break_glass });
    const { change_id } = await api.propose(at("production", 50));
    await api.post("approve", { change_id, approver: "ana", note: "outage", emergency: "true" });
    expect((await readGate(api, change_id)).state).toBe("warn");
    expect((await api.post("apply", { change_id, dry_run: "true" })).status).toBe(200);
    expect(await apply(api, change_id)).toBe("applied");
    const other = await bring(api, "approved", at("production", 51));
    expect((await api.post("apply", { change_id: other, dry_run: "true" })).status).toBe(200);
  });

  test("every change is bound whose tenant the rule names, and no other", async () => {
    const api = await governed();
    expect(await apply(api, await bring(api, "approved", at("test", 50)))).toBe("applied");
    const { value: _, ...withoutValue } = at("production", 0);
    expect(await apply(api, await bring(api, "approved", withoutValue))).toBe(NOT_READY);
  });
});

describe("systems", () => {
  const open = async (rule: object, staging = ["staging/*"], late = ["other/*"]) => {
    const systems = Object.entries({ staging, live: ["live/*"], late }).map(([name, match]) => ({
      name,
      match,
      adapter: targetAdapter(memoryTarget().system, { store: memoryStore(), clock: systemClock }),
    }));
    return service({ adapter: routingAdapter(systems), intent: { policy: { promotion: [rule] } } });
  };

  test("a value goes from one system to the other under the same rest", async () => {
    const api = await open({ to: ["system:live"], from: ["system:staging"] });
    const change_id = await bring(api, "approved", at("t1", 50, { target: "live/seats" }));
    await bring(api, "applied", at("t1", 50, { target: "staging/teams" }));
    await bring(api, "applied", at("t2", 50, { target: "staging/seats" }));
    expect(await apply(api, change_id)).toBe(NOT_READY);
    await bring(api, "applied", at("t1", 50, { target: "staging/seats" }));
    expect(await apply(api, change_id)).toBe("applied");
  });

  test.each([
    ["a pattern without * covers one target", ["seats"], "seats", true],
    ["another target of such a pattern is not it", ["teams"], "teams", false],
    ["a pattern with several * leaves too much open", ["*/staging/*"], "a/staging/seats", false],
  ])("%s", async (_, match, target, isMet) => {
    const api = await open({ to: ["system:live"], from: ["system:staging"] }, match);
    const change_id = await bring(api, "approved", at("t1", 50, { target: "live/seats" }));
    await bring(api, "applied", at("t1", 50, { target }));
    expect(await apply(api, change_id)).toBe(isMet ? "applied" : NOT_READY);
  });

  test("a target that an earlier system covers is not of the one that the rule names", async () => {
    const api = await open({ to: ["system:live"], from: ["system:late"] }, ["late/*"], ["late/*"]);
    await bring(api, "applied", at("t1", 50, { target: "late/seats" }));
    const change_id = await bring(api, "approved", at("t1", 50, { target: "live/seats" }));
    expect((await readGate(api, change_id)).message).toContain("system:late has no such target");
  });

  test.each([
    [{ to: ["system:live"], from: ["system:stage"] }, "stage"],
    [{ to: ["system:lives"], from: ["tenant:staging"] }, "lives"],
  ])("no service starts under a rule of a system that there is not: %j", async (rule, name) => {
    await expect(open(rule)).rejects.toThrow(`policy.promotion names the target system ${name}, and there are staging`);
    await expect(service({ intent: { policy: { promotion: [rule] } } })).rejects.toThrow(
      "no target system is configured",
    );
  });

  test("a change is promoted to another system", async () => {
    const api = await open({ to: ["system:live"], from: ["system:staging"], soak_hours: 1 });
    const promotes = await bring(api, "applied", at("t1", 50, { target: "staging/seats" }));
    const body = { tenant_id: "t1", target: "live/seats", summary: "Promote", promotes };
    const { change_id } = (await api.json("propose", body)).body;
    await api.must("approve", change_id);
    expect(await apply(api, change_id)).toBe(NOT_READY);
    api.deps.clock.advance(HOUR);
    expect(await apply(api, change_id)).toBe("applied");
  });
});

describe("a proposal that promotes a change", () => {
  const PROMOTION = { tenant_id: "production", summary: "Promote the seats" };

  test("takes kind, target and value of it, and nothing else", async () => {
    const api = await governed();
    const promotes = await bring(
      api,
      "applied",
      at("staging", { seats: 50 }, { risk: "high", kpi: "csat", rationale: "r" }),
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
  ])("%j: %i %s", async (over, status, message) => {
    const api = await governed();
    const promotes = await bring(api, "applied", at("staging", 50));
    const answer = await api.json("propose", { ...PROMOTION, promotes, ...over });
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(message)]);
  });

  test("without promotes, kind and target are required", async () => {
    const { body } = await (await governed()).json("propose", PROMOTION);
    expect(body.fields.map(({ field }: { field: string }) => field)).toEqual(["kind", "target"]);
  });

  test("an agent with `read: own` finds no change of others", async () => {
    const token_sha256 = portableSha256("secret");
    const principals = { "agent:own": { kind: "agent", token_sha256, may: { read: "own" } } };
    const api = await service({ intent: { principals } });
    const promotes = await bring(api, "applied", at("staging", 50));
    const { status, body } = await api.json("propose", { ...PROMOTION, promotes }, { authorization: "Bearer secret" });
    expect([status, body.code]).toEqual([404, "change_not_found"]);
  });

  test("whose name the proxy contradicts hears of that first", async () => {
    const api = await service({ identityHeader: "x-user" });
    const promotes = "chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1";
    const body = { ...PROMOTION, promotes, proposer: "bo" };
    const { status, body: answer } = await api.json("propose", body, { "x-user": "ana" });
    expect([status, answer.code]).toEqual([403, "identity_mismatch"]);
  });

  test("one whose content was erased cannot be promoted", async () => {
    const api = await governed();
    const promotes = await bring(api, "applied", at("staging", 50));
    await api.must("rollback", promotes);
    await api.post("erase", { change_id: promotes, actor: "ana", note: "asked for" });
    const { status, body } = await api.json("propose", { ...PROMOTION, promotes });
    expect([status, body.error]).toEqual([400, expect.stringContaining("erased")]);
  });
});
