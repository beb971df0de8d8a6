/** Limits of values by schema and maximum step, at the proposal, at the apply, in gates and in the policy endpoint. */
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { restartDeps } from "../../support/deps.ts";
import { HOUR, MINUTE } from "../../support/clock.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { service, makeService, type TestService } from "../../support/service.ts";

const PRICE = { tenant_id: "t1", target: "price.pro", kind: "config", reversible: true };
const STEP = { match: ["price.*"], max_step: { relative: 0.05 }, unit: "EUR" };
const MINOR = { kinds: ["config"], targets: ["*"], max_affected_users: 50, max_risk: "low" };

const serviceWithTargets = (targets: object[] = [STEP], policy: object = {}) =>
  service({ intent: { policy: { targets, ...policy } } });
const makeProposal = (value: unknown, overrides: object = {}) => ({
  ...PRICE,
  summary: "s",
  value: JSON.stringify(value),
  ...overrides,
});
const propose = (api: TestService, value: unknown, overrides: object = {}) =>
  api.post("propose", makeProposal(value, overrides));
const apply = (api: TestService, change_id: string) => api.post("apply", { change_id });

/** Proposes, approves and applies a value. */
const setValue = async (api: TestService, value: unknown, overrides: object = {}): Promise<string> =>
  api.bring("applied", makeProposal(value, overrides) as never);
/** Proposes and approves a value, without applying it. */
const approveValue = (api: TestService, value: unknown, overrides: object = {}): Promise<string> =>
  api.bring("approved", makeProposal(value, overrides) as never);

/** Returns "allowed", or the range or rule by which a proposal of the value is rejected. */
const tryValue = async (api: TestService, value: unknown, overrides: object = {}) => {
  const { status, body } = await propose(api, value, overrides);
  return status === 201 ? "allowed" : (body.range ?? body.rule);
};

/** Opens a service with a target system in memory; `overwrite` edits its value outside the service. */
async function serviceWithTargetSystem(targets: object[] = [STEP], policy: object = {}) {
  const target = memoryTarget();
  let isFailing = false;
  const read: typeof target.system.read = (...args) =>
    isFailing ? Promise.reject(new Error("down")) : target.system.read(...args);
  const adapter = targetAdapter({ ...target.system, read }, { store: memoryStore(), clock: systemClock });
  const routed = routingAdapter([{ name: "prices", match: ["*"], adapter }]);
  const api = await service({ adapter: routed, intent: { policy: { targets, ...policy } } });
  return {
    api,
    overwrite: (text: string | undefined) => target.overwrite({ ...PRICE, kind: "config" }, text),
    setFailing: (value: boolean) => void (isFailing = value),
  };
}

describe("a schema", () => {
  const schema = {
    type: "object",
    properties: {
      eur: { type: "number", minimum: 0, exclusiveMaximum: 100, multipleOf: 0.1 },
      name: { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-zé]{2,4}$" },
      tags: { type: "array", items: { enum: ["a", "b"], type: "string" }, maxItems: 2, uniqueItems: true },
      "a/b~c#d %": { type: "integer" },
    },
    required: ["eur"],
    additionalProperties: false,
  };
  test.each([
    [{ eur: 0.3, name: "pré", tags: ["b", "a"] }, undefined, undefined, undefined],
    [{ eur: -0.1 }, "value.eur", "minimum", { minimum: 0, exclusiveMaximum: 100, multipleOf: 0.1 }],
    [{ eur: 100 }, "value.eur", "exclusiveMaximum", { minimum: 0, exclusiveMaximum: 100, multipleOf: 0.1 }],
    [{ eur: 0.35 }, "value.eur", "multipleOf", { minimum: 0, exclusiveMaximum: 100, multipleOf: 0.1 }],
    [{ eur: "3" }, "value.eur", "type", { type: "number" }],
    [{ eur: null }, "value.eur", "type", { type: "number" }],
    [{ eur: [1] }, "value.eur", "type", { type: "number" }],
    [{}, "value", "required", { required: ["eur"] }],
    [[], "value", "type", { type: "object" }],
    ["{}", "value", "type", { type: "object" }],
    [{ eur: 1, name: "p" }, "value.name", "minLength", { minLength: 2, maxLength: 4 }],
    [{ eur: 1, name: "PR" }, "value.name", "pattern", { pattern: "^[a-zé]{2,4}$" }],
    [{ eur: 1, tags: ["a", "c"] }, "value.tags.1", "enum", { enum: ["a", "b"] }],
    [{ eur: 1, tags: ["a", "a"] }, "value.tags", "uniqueItems", { uniqueItems: true }],
    [{ eur: 1, toString: 1 }, "value.toString", "additionalProperties", { additionalProperties: false }],
    [{ eur: 1, "a/b~c#d %": 1.5 }, "value.a/b~c#d %", "type", { type: "integer" }],
  ])("accepts or rejects %j", async (value, path, rule, range) => {
    const { status, body } = await propose(await serviceWithTargets([{ match: ["price.*"], schema }]), value);
    if (path === undefined) return expect(status).toBe(201);
    expect([status, body.code, body.path, body.rule, body.range]).toEqual([
      400,
      "value_not_allowed",
      path,
      rule,
      range,
    ]);
  });

  test("rejects an additional member named __proto__", async () => {
    const api = await serviceWithTargets([{ match: ["price.*"], schema }]);
    const { body } = await api.post("propose", { ...makeProposal(0), value: '{"eur":1,"__proto__":{"eur":3}}' });
    expect([body.code, body.path]).toEqual(["value_not_allowed", "value.__proto__"]);
  });

  test("of every rule that matches the target applies, ignoring case", async () => {
    const api = await serviceWithTargets([
      { match: ["price.*"], schema: { type: "number", minimum: 1 } },
      { match: ["*.PRO"], schema: { type: "integer", maximum: 9 } },
    ]);
    expect(await tryValue(api, 0)).toEqual({ minimum: 1 });
    expect(await tryValue(api, 10, { target: "Price.Pro" })).toEqual({ maximum: 9 });
    expect(await tryValue(api, 1.5)).toEqual({ type: "integer" });
    expect(await tryValue(api, 10, { target: "price.max" })).toBe("allowed");
    expect(await tryValue(api, 0, { target: "seats" })).toBe("allowed");
  });

  test("is verified again at the apply, and not for a change without a value", async () => {
    const api = await serviceWithTargets([]);
    const [withValue, withoutValue] = [await approveValue(api, 7), await api.bring("approved", PRICE)];
    const later = makeService(
      await restartDeps(api.deps, {
        intent: { policy: { targets: [{ match: ["price.*"], schema: { type: "integer", maximum: 5 } }] } },
      }),
    );
    const { status, body } = await apply(later, withValue);
    expect([status, body.code, body.path, body.rule, body.range, body.change_id, body.allowed]).toEqual([
      400,
      "value_not_allowed",
      "value",
      "maximum",
      { maximum: 5 },
      withValue,
      ["revoke"],
    ]);
    expect((await later.post("apply", { change_id: withValue, dry_run: "true" })).body.code).toBe("value_not_allowed");
    const { gates } = (await later.get(`changes/${withValue}`)).body;
    expect(gates).toContainEqual({
      gate: "value_not_allowed",
      state: "block",
      message: expect.stringContaining('value of price.pro is outside {"maximum":5}'),
    });
    expect((await apply(later, withoutValue)).status).toBe(200);
  });
});

test("a rule may require a KPI", async () => {
  const api = await serviceWithTargets([{ match: ["price.*"], kpi_required: true }]);
  const { status, body } = await propose(api, 1);
  expect([status, body.code, body.path, body.rule]).toEqual([400, "value_not_allowed", "kpi", "kpi_required"]);
  expect(await tryValue(api, 1, { kpi: "nrr_quarterly" })).toBe("allowed");
});

describe("a step", () => {
  test("is counted from the value 24 hours ago, so small steps add up", async () => {
    const api = await serviceWithTargets();
    await setValue(api, 100);
    api.deps.clock.advance(25 * HOUR);
    await setValue(api, 103);
    expect(await tryValue(api, 105)).toBe("allowed");
    expect(await tryValue(api, 105.01)).toEqual({ minimum: 95, maximum: 105 });
    await setValue(api, 105);
    expect(await tryValue(api, 94.99)).toEqual({ minimum: 95, maximum: 105 });
    await setValue(api, 95);
    // A change exactly 24 hours ago still belongs to the window.
    api.deps.clock.advance(24 * HOUR);
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(1);
    expect(await tryValue(api, 105)).toEqual({ minimum: 90.25, maximum: 99.75 });
  });

  test("is verified again at the apply, so approved changes cannot add up", async () => {
    const api = await serviceWithTargets();
    await setValue(api, 100);
    api.deps.clock.advance(25 * HOUR);
    const [up, down] = [await approveValue(api, 105), await approveValue(api, 95)];
    expect((await apply(api, up)).status).toBe(200);
    expect((await apply(api, down)).status).toBe(200);
    const later = await approveValue(api, 104);
    api.deps.clock.advance(25 * HOUR);
    const { status, body } = await apply(api, later);
    expect([status, body.code, body.rule, body.range, body.base, body.unit]).toEqual([
      400,
      "value_not_allowed",
      "max_step",
      { minimum: 90.25, maximum: 99.75 },
      95,
      "EUR",
    ]);
    expect(body.max_step).toEqual({ relative: 0.05, hours: 24 });
    expect((await api.get(`changes/${later}`)).body.gates).toContainEqual({
      gate: "value_not_allowed",
      state: "block",
      message: expect.stringContaining("must be from 90.25 to 99.75; its value 24 hours before was 95"),
    });
  });

  test("is verified for the second of two first values, against the first", async () => {
    const api = await serviceWithTargets();
    const [first, second] = [await approveValue(api, 100), await approveValue(api, 1000)];
    expect((await apply(api, first)).status).toBe(200);
    expect((await apply(api, second)).body.range).toEqual({ minimum: 95, maximum: 105 });
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
  });

  test("does not bound a first value, which must be a number and is never minor", async () => {
    const minor = { tier: "minor", affected_users: 5, risk: "low" };
    const api = await serviceWithTargets([{ ...STEP, schema: { type: ["number", "string"], maximum: 500 } }], {
      minor: MINOR,
    });
    expect(await tryValue(api, "7")).toBe("max_step");
    expect(await tryValue(api, 501)).toEqual({ maximum: 500 });
    const { body } = await propose(api, 500, minor);
    expect([body.tier, body.tier_reason]).toEqual([
      "standard",
      "It is not minor: it is the first value of price.pro, from which its steps are counted.",
    ]);
    await api.must("approve", body.change_id);
    await api.must("apply", body.change_id);
    expect((await propose(api, 501, minor)).body.code).toBe("value_not_allowed");
    expect((await propose(api, 490, minor)).body.tier).toBe("minor");
  });

  test("is counted from the last value after a rollback of all values", async () => {
    const api = await serviceWithTargets();
    await api.must("rollback", await setValue(api, 100));
    expect(await tryValue(api, 200)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(1000 * HOUR);
    expect(await tryValue(api, 200)).toEqual({ minimum: 95, maximum: 105 });
    // A process started later, without these entries in memory, gives the same answer.
    const later = makeService(await restartDeps(api.deps, { intent: { policy: { targets: [STEP] } } }));
    expect(await tryValue(later, 200)).toEqual({ minimum: 95, maximum: 105 });
    await later.must("rollback", await setValue(later, 105));
    expect(await tryValue(later, 106)).toEqual({ minimum: 95, maximum: 105 });
    later.deps.clock.advance(25 * HOUR);
    expect(await tryValue(later, 106)).toBe("allowed");
  });

  test("is still counted after a change without a value, and after a rollback in the window", async () => {
    const api = await serviceWithTargets();
    const first = await setValue(api, 100);
    await api.bring("applied", PRICE);
    api.deps.clock.advance(25 * HOUR);
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    const second = await setValue(api, 105);
    api.deps.clock.advance(23 * HOUR);
    await api.must("rollback", second);
    await api.must("rollback", first);
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(2 * HOUR);
    // The value was 105 when these 24 hours began.
    expect(await tryValue(api, 106)).toBe("allowed");
    expect(await tryValue(api, 111)).toEqual({ minimum: 99.75, maximum: 110.25 });
  });

  test("is counted from the later change when an earlier one is rolled back", async () => {
    const api = await serviceWithTargets();
    const first = await setValue(api, 100);
    api.deps.clock.advance(25 * HOUR);
    await setValue(api, 104);
    api.deps.clock.advance(25 * HOUR);
    await api.must("rollback", first);
    expect(await tryValue(api, 110)).toEqual({ minimum: 98.8, maximum: 109.2 });
  });

  test("does not limit a rollback or a restore", async () => {
    const { api, overwrite } = await serviceWithTargetSystem();
    overwrite("1000");
    const small = await setValue(api, 1000);
    api.deps.clock.advance(25 * HOUR);
    overwrite("7");
    const restored = await api.post("restore", { change_id: small, actor: "ops", note: "Edited." });
    expect([restored.status, restored.body.code]).toEqual([200, undefined]);
    await setValue(api, 950);
    // Small steps a day apart lead far away from the first value.
    for (let value = 940; value >= 700; value -= 10) {
      api.deps.clock.advance(25 * HOUR);
      await setValue(api, value);
    }
    expect((await api.post("rollback", { change_id: small })).status).toBe(200);
  });

  // Bounds are exact, and are rounded inwards to a number. A part of 0 is no step.
  test.each([
    [0.1, { relative: 3 }, { minimum: -0.2, maximum: 0.4 }],
    [0.3, { relative: 0.1 }, { minimum: 0.27, maximum: 0.33 }],
    [-100, { relative: 0.05 }, { minimum: -105, maximum: -95 }],
    [1e308, { relative: 2 }, { minimum: -1e308, maximum: Number.MAX_VALUE }],
    [5e-324, { absolute: 1 }, { minimum: -0.9999999999999999, maximum: 1 }],
    [9007199254740991, { absolute: 1 }, { minimum: 9007199254740990, maximum: 9007199254740992 }],
    [0, { absolute: 0.5 }, { minimum: -0.5, maximum: 0.5 }],
    [0, { relative: 0.5 }, "max_step"],
  ])("from %d by %j allows %j", async (base, max_step, range) => {
    const api = await serviceWithTargets([{ match: ["price.*"], max_step }]);
    await setValue(api, base);
    expect(await tryValue(api, "x")).toBe("max_step");
    // 1.7e308 is inside the range of 1e308 only.
    const outsideValue = base === 1e308 ? -1.1e308 : 1.7e308;
    expect(await tryValue(api, outsideValue)).toEqual(range);
    if (typeof range === "string") return;
    expect(await tryValue(api, range.minimum)).toBe("allowed");
    expect(await tryValue(api, range.maximum)).toBe("allowed");
  });

  test("is verified for each member, and no member may be left out", async () => {
    const api = await serviceWithTargets([
      { match: ["price.*"], max_step: { absolute: 2, members: ["limits.seats", "eur"] } },
    ]);
    await setValue(api, { limits: { seats: 5 }, eur: 10 });
    for (const [value, path] of [
      [{ limits: { seats: 8 }, eur: 10 }, "value.limits.seats"],
      [{ limits: { seats: 7 }, eur: 12.5 }, "value.eur"],
      [{ limits: { seats: 7 } }, "value.eur"],
      [{ limits: [7], eur: 10 }, "value.limits.seats"],
      [{ limits: { seats: "7" }, eur: 10 }, "value.limits.seats"],
      [7, "value.limits.seats"],
    ] as const)
      expect((await propose(api, value)).body).toMatchObject({ code: "value_not_allowed", path, rule: "max_step" });
    await setValue(api, { limits: { seats: 7, beds: 900 }, eur: 8 });
  });

  test("treats a new member as a first value once", async () => {
    const members = ["a", "b"];
    const api = await serviceWithTargets([]);
    await setValue(api, { a: 1 });
    const later = makeService(
      await restartDeps(api.deps, {
        intent: { policy: { targets: [{ match: ["price.*"], max_step: { absolute: 1, members } }] } },
      }),
    );
    await setValue(later, { a: 2, b: 50 });
    expect((await propose(later, { a: 2, b: 52 })).body).toMatchObject({
      path: "value.b",
      range: { minimum: 49, maximum: 51 },
    });
  });

  test("is rejected when the base value was erased or edited", async () => {
    const api = await serviceWithTargets();
    const first = await setValue(api, 100);
    const second = await setValue(api, 101);
    await api.must("rollback", second);
    await api.must("rollback", first);
    expect((await api.post("erase", { change_id: second, actor: "ana", note: "n" })).status).toBe(200);
    expect(await tryValue(api, 102)).toBe("allowed");
    api.deps.clock.advance(25 * HOUR);
    // Steps are counted from the last value, 101, now that both changes are older than 24 hours.
    expect((await propose(api, 101)).body.error).toContain("was erased");
    const third = await setValue(api, 100, { target: "price.max" });
    const { store } = api.deps;
    await store.transact(async (tx) => {
      const { value } = (await tx.get("changes", third))!;
      tx.put("changes", third, JSON.parse(JSON.stringify(value).replaceAll(":100", ":900")) as never);
    });
    const { body } = await propose(api, 901, { target: "price.max" });
    expect([body.code, body.error]).toEqual(["value_not_allowed", expect.stringContaining("does not match the log")]);
  });
});

describe("the current value of the target system", () => {
  test("is the base if no change has been applied, as read at the proposal", async () => {
    const { api, overwrite } = await serviceWithTargetSystem();
    overwrite("100");
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    const change = await approveValue(api, 105);
    overwrite("200");
    expect((await apply(api, change)).status).toBe(200);
    // The base stays the value read before the first change of these 24 hours.
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    await api.must("rollback", change);
    overwrite("1");
    expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
  });

  test("is read at the apply if the rule is newer than the proposal", async () => {
    const { api, overwrite } = await serviceWithTargetSystem([]);
    overwrite("100");
    const change = await approveValue(api, 106);
    const later = makeService(await restartDeps(api.deps, { intent: { policy: { targets: [STEP] } } }));
    expect((await apply(later, change)).body.range).toEqual({ minimum: 95, maximum: 105 });
  });

  test("blocks the change if it cannot be read or is no number", async () => {
    const { api, overwrite, setFailing } = await serviceWithTargetSystem();
    overwrite("100");
    setFailing(true);
    expect((await propose(api, 106)).body).toMatchObject({
      code: "value_not_allowed",
      error: expect.stringContaining("cannot be read now"),
    });
    setFailing(false);
    overwrite('"100"');
    expect((await propose(api, 106)).body.error).toContain("it held no number before");
    overwrite(undefined);
    expect(await tryValue(api, 106)).toBe("allowed");
  });
});

test("concurrent applies stay within one step", async () => {
  const { api, overwrite } = await serviceWithTargetSystem();
  overwrite("100");
  const changes = await Promise.all([105, 95, 104, 96].map((value) => approveValue(api, value)));
  const replies = await Promise.all(changes.map((change_id) => apply(api, change_id)));
  expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  api.deps.clock.advance(MINUTE);
  expect(await tryValue(api, 106)).toEqual({ minimum: 95, maximum: 105 });
});

describe("the policy endpoint", () => {
  test("returns the rules of a target and the range allowed now", async () => {
    const schema = { type: "number", minimum: 0 };
    const api = await serviceWithTargets([
      { ...STEP, schema },
      { match: ["seats"], kpi_required: true },
    ]);
    const rules = [{ ...STEP, max_step: { relative: 0.05, hours: 24 }, schema }];
    const readPolicy = async (query: string) => (await api.get(`policy?${query}`)).body;
    expect(await readPolicy("target=price.pro")).toEqual({ rules, limits: [], preview: null });
    expect(await readPolicy("target=other&tenant_id=t1")).toEqual({ rules: [], limits: [], preview: null });
    const withoutLimit = { path: "value", base: [], minimum: null, maximum: null, problem: null };
    expect(await readPolicy("target=price.pro&tenant_id=t1")).toEqual({ rules, limits: [withoutLimit], preview: null });
    await setValue(api, 100);
    expect((await readPolicy("target=PRICE.pro&tenant_id=t1")).limits).toEqual([
      { path: "value", base: [100], minimum: 95, maximum: 105, problem: null },
    ]);
    expect((await readPolicy("target=price.pro&tenant_id=t2")).limits).toEqual([withoutLimit]);
  });
});

describe("a split", () => {
  /** Returns a value that gives each of the values to an equal share of users, in ten-thousandths. */
  const split = (...values: unknown[]) => ({
    $split: { shares: values.map((value, index) => [`v${index}`, value, 10_000 / values.length]) },
  });

  test("is verified for the value of each share, and each share is a base", async () => {
    const api = await serviceWithTargets([{ ...STEP, schema: { type: "number", maximum: 110 } }]);
    await setValue(api, split(100, 104));
    expect((await propose(api, split(100, 111))).body).toMatchObject({
      path: "value.$split.shares.1.1",
      rule: "maximum",
    });
    // The range is common to both bases: from 95 to 105, and from 98.8 to 109.2.
    expect((await propose(api, split(98, 100))).body).toMatchObject({
      path: "value.$split.shares.0.1",
      range: { minimum: 98.8, maximum: 105 },
      base: [100, 104],
    });
    expect(await tryValue(api, 105.01)).toEqual({ minimum: 98.8, maximum: 105 });
    expect(await tryValue(api, split(99, 105))).toBe("allowed");
    expect((await propose(api, split(99, "100"))).body.path).toBe("value.$split.shares.1.1");
  });

  test("that is malformed is rejected", async () => {
    const api = await serviceWithTargets();
    expect((await propose(api, { $split: { shares: [["a", 100, 9000]] } })).body.code).toBe("value_not_allowed");
  });
});
