/** Values within schemas and steps: at the proposal, at the apply, in gates and before anything is proposed. */
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { restarted } from "../../support/deps.ts";
import { HOUR, MINUTE } from "../../support/clock.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { service, makeService, type TestService } from "../../support/service.ts";

const PRICE = { tenant_id: "t1", target: "price.pro", kind: "config", reversible: true };
const STEP = { match: ["price.*"], max_step: { relative: 0.05 }, unit: "EUR" };
const MINOR = { kinds: ["config"], targets: ["*"], max_affected_users: 50, max_risk: "low" };

const priced = (targets: object[] = [STEP], policy: object = {}) =>
  service({ intent: { policy: { targets, ...policy } } });
const of = (value: unknown, over: object = {}) => ({ ...PRICE, summary: "s", value: JSON.stringify(value), ...over });
const propose = (api: TestService, value: unknown, over: object = {}) => api.post("propose", of(value, over));
const apply = (api: TestService, change_id: string) => api.post("apply", { change_id });

/** Brings a value to `applied`. */
const set = async (api: TestService, value: unknown, over: object = {}): Promise<string> =>
  api.bring("applied", of(value, over) as never);
/** Approves a value, whose limit is judged again by its apply. */
const approved = (api: TestService, value: unknown, over: object = {}): Promise<string> =>
  api.bring("approved", of(value, over) as never);

const verdict = async (api: TestService, value: unknown, over: object = {}) => {
  const { status, body } = await propose(api, value, over);
  return status === 201 ? "allowed" : (body.range ?? body.rule);
};

async function onSystem(targets: object[] = [STEP], policy: object = {}) {
  const target = memoryTarget();
  let fails = false;
  const read: typeof target.system.read = (...args) =>
    fails ? Promise.reject(new Error("down")) : target.system.read(...args);
  const adapter = targetAdapter({ ...target.system, read }, { store: memoryStore(), clock: systemClock });
  const routed = routingAdapter([{ name: "prices", match: ["*"], adapter }]);
  const api = await service({ adapter: routed, intent: { policy: { targets, ...policy } } });
  return {
    api,
    hold: (text: string | undefined) => target.overwrite({ ...PRICE, kind: "config" }, text),
    setFailing: (failing: boolean) => void (fails = failing),
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
  ])("judges %j", async (value, path, rule, range) => {
    const { status, body } = await propose(await priced([{ match: ["price.*"], schema }]), value);
    if (path === undefined) return expect(status).toBe(201);
    expect([status, body.code, body.path, body.rule, body.range]).toEqual([
      400,
      "value_not_allowed",
      path,
      rule,
      range,
    ]);
  });

  test("excludes a member that is called __proto__", async () => {
    const api = await priced([{ match: ["price.*"], schema }]);
    const { body } = await api.post("propose", { ...of(0), value: '{"eur":1,"__proto__":{"eur":3}}' });
    expect([body.code, body.path]).toEqual(["value_not_allowed", "value.__proto__"]);
  });

  test("of every matching rule holds, without case, and of no other target", async () => {
    const api = await priced([
      { match: ["price.*"], schema: { type: "number", minimum: 1 } },
      { match: ["*.PRO"], schema: { type: "integer", maximum: 9 } },
    ]);
    expect(await verdict(api, 0)).toEqual({ minimum: 1 });
    expect(await verdict(api, 10, { target: "Price.Pro" })).toEqual({ maximum: 9 });
    expect(await verdict(api, 1.5)).toEqual({ type: "integer" });
    expect(await verdict(api, 10, { target: "price.max" })).toBe("allowed");
    expect(await verdict(api, 0, { target: "seats" })).toBe("allowed");
  });

  test("judges no change without a value, and an apply under the intent of then", async () => {
    const api = await priced([]);
    const [one, none] = [await approved(api, 7), await api.bring("approved", PRICE)];
    const later = makeService(
      await restarted(api.deps, {
        intent: { policy: { targets: [{ match: ["price.*"], schema: { type: "integer", maximum: 5 } }] } },
      }),
    );
    const { status, body } = await apply(later, one);
    expect([status, body.code, body.path, body.rule, body.range, body.change_id, body.allowed]).toEqual([
      400,
      "value_not_allowed",
      "value",
      "maximum",
      { maximum: 5 },
      one,
      ["revoke"],
    ]);
    expect((await later.post("apply", { change_id: one, dry_run: "true" })).body.code).toBe("value_not_allowed");
    const { gates } = (await later.get(`changes/${one}`)).body;
    expect(gates).toContainEqual({
      gate: "value_not_allowed",
      state: "block",
      message: expect.stringContaining('value of price.pro is outside {"maximum":5}'),
    });
    expect((await apply(later, none)).status).toBe(200);
  });
});

test("a rule may require a KPI", async () => {
  const api = await priced([{ match: ["price.*"], kpi_required: true }]);
  const { status, body } = await propose(api, 1);
  expect([status, body.code, body.path, body.rule]).toEqual([400, "value_not_allowed", "kpi", "kpi_required"]);
  expect(await verdict(api, 1, { kpi: "nrr_quarterly" })).toBe("allowed");
});

describe("a step", () => {
  test("is counted from what the target held 24 hours before, so that small steps add up to one", async () => {
    const api = await priced();
    await set(api, 100);
    api.deps.clock.advance(25 * HOUR);
    await set(api, 103);
    expect(await verdict(api, 105)).toBe("allowed");
    expect(await verdict(api, 105.01)).toEqual({ minimum: 95, maximum: 105 });
    await set(api, 105);
    expect(await verdict(api, 94.99)).toEqual({ minimum: 95, maximum: 105 });
    await set(api, 95);
    // The moment itself belongs to the window, and so its beginning is before it.
    api.deps.clock.advance(24 * HOUR);
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(1);
    expect(await verdict(api, 105)).toEqual({ minimum: 90.25, maximum: 99.75 });
  });

  test("is judged again by the apply, so that approved changes cannot add up", async () => {
    const api = await priced();
    await set(api, 100);
    api.deps.clock.advance(25 * HOUR);
    const [up, down] = [await approved(api, 105), await approved(api, 95)];
    expect((await apply(api, up)).status).toBe(200);
    expect((await apply(api, down)).status).toBe(200);
    const again = await approved(api, 104);
    api.deps.clock.advance(25 * HOUR);
    const { status, body } = await apply(api, again);
    expect([status, body.code, body.rule, body.range, body.base, body.unit]).toEqual([
      400,
      "value_not_allowed",
      "max_step",
      { minimum: 90.25, maximum: 99.75 },
      95,
      "EUR",
    ]);
    expect(body.max_step).toEqual({ relative: 0.05, hours: 24 });
    expect((await api.get(`changes/${again}`)).body.gates).toContainEqual({
      gate: "value_not_allowed",
      state: "block",
      message: expect.stringContaining("must be from 90.25 to 99.75: 24 hours before it held 95"),
    });
  });

  test("of two first values is one: the second is judged by the first", async () => {
    const api = await priced();
    const [one, two] = [await approved(api, 100), await approved(api, 1000)];
    expect((await apply(api, one)).status).toBe(200);
    expect((await apply(api, two)).body.range).toEqual({ minimum: 95, maximum: 105 });
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
  });

  test("of a first value is bounded by the schema alone, must be of a number, and is never minor", async () => {
    const minor = { tier: "minor", affected_users: 5, risk: "low" };
    const api = await priced([{ ...STEP, schema: { type: ["number", "string"], maximum: 500 } }], { minor: MINOR });
    expect(await verdict(api, "7")).toBe("max_step");
    expect(await verdict(api, 501)).toEqual({ maximum: 500 });
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

  test("has no second first value: after a rollback the last value is the base", async () => {
    const api = await priced();
    await api.must("rollback", await set(api, 100));
    expect(await verdict(api, 200)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(1000 * HOUR);
    expect(await verdict(api, 200)).toEqual({ minimum: 95, maximum: 105 });
    // Also where the log of then is not in memory.
    const later = makeService(await restarted(api.deps, { intent: { policy: { targets: [STEP] } } }));
    expect(await verdict(later, 200)).toEqual({ minimum: 95, maximum: 105 });
    await later.must("rollback", await set(later, 105));
    expect(await verdict(later, 106)).toEqual({ minimum: 95, maximum: 105 });
    later.deps.clock.advance(25 * HOUR);
    expect(await verdict(later, 106)).toBe("allowed");
  });

  test("is not hidden by a change without a value, nor by a rollback in the window", async () => {
    const api = await priced();
    const first = await set(api, 100);
    await api.bring("applied", PRICE);
    api.deps.clock.advance(25 * HOUR);
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    const second = await set(api, 105);
    api.deps.clock.advance(23 * HOUR);
    await api.must("rollback", second);
    await api.must("rollback", first);
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    api.deps.clock.advance(2 * HOUR);
    // It held 105 at the beginning of these hours.
    expect(await verdict(api, 106)).toBe("allowed");
    expect(await verdict(api, 111)).toEqual({ minimum: 99.75, maximum: 110.25 });
  });

  test("of a rollback under a later change is counted from the later one", async () => {
    const api = await priced();
    const first = await set(api, 100);
    api.deps.clock.advance(25 * HOUR);
    await set(api, 104);
    api.deps.clock.advance(25 * HOUR);
    await api.must("rollback", first);
    expect(await verdict(api, 110)).toEqual({ minimum: 98.8, maximum: 109.2 });
  });

  test("does not judge a rollback or a restore", async () => {
    const { api, hold } = await onSystem();
    hold("1000");
    const small = await set(api, 1000);
    api.deps.clock.advance(25 * HOUR);
    hold("7");
    const restored = await api.post("restore", { change_id: small, actor: "ops", note: "Edited." });
    expect([restored.status, restored.body.code]).toEqual([200, undefined]);
    await set(api, 950);
    for (let value = 950; value > 700; value -= 10) {
      api.deps.clock.advance(25 * HOUR);
      await set(api, value - 10);
    }
    expect((await api.post("rollback", { change_id: small })).status).toBe(200);
  });

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
    const api = await priced([{ match: ["price.*"], max_step }]);
    await set(api, base);
    expect(await verdict(api, "x")).toBe("max_step");
    expect(await verdict(api, base === 1e308 ? -1.1e308 : 1.7e308)).toEqual(range);
    if (typeof range === "string") return;
    expect(await verdict(api, range.minimum)).toBe("allowed");
    expect(await verdict(api, range.maximum)).toBe("allowed");
  });

  test("of members is judged for each, and a member is never left out", async () => {
    const api = await priced([{ match: ["price.*"], max_step: { absolute: 2, members: ["limits.seats", "eur"] } }]);
    await set(api, { limits: { seats: 5 }, eur: 10 });
    for (const [value, path] of [
      [{ limits: { seats: 8 }, eur: 10 }, "value.limits.seats"],
      [{ limits: { seats: 7 }, eur: 12.5 }, "value.eur"],
      [{ limits: { seats: 7 } }, "value.eur"],
      [{ limits: [7], eur: 10 }, "value.limits.seats"],
      [{ limits: { seats: "7" }, eur: 10 }, "value.limits.seats"],
      [7, "value.limits.seats"],
    ] as const)
      expect((await propose(api, value)).body).toMatchObject({ code: "value_not_allowed", path, rule: "max_step" });
    await set(api, { limits: { seats: 7, beds: 900 }, eur: 8 });
  });

  test("of a member that is new is a first value, and none in the next change", async () => {
    const members = ["a", "b"];
    const api = await priced([]);
    await set(api, { a: 1 });
    const later = makeService(
      await restarted(api.deps, {
        intent: { policy: { targets: [{ match: ["price.*"], max_step: { absolute: 1, members } }] } },
      }),
    );
    await set(later, { a: 2, b: 50 });
    expect((await propose(later, { a: 2, b: 52 })).body).toMatchObject({
      path: "value.b",
      range: { minimum: 49, maximum: 51 },
    });
  });

  test("from a content that was erased or edited is not judged, and so not allowed", async () => {
    const api = await priced();
    const first = await set(api, 100);
    const second = await set(api, 101);
    await api.must("rollback", second);
    await api.must("rollback", first);
    expect((await api.post("erase", { change_id: second, actor: "ana", note: "n" })).status).toBe(200);
    expect(await verdict(api, 102)).toBe("allowed");
    api.deps.clock.advance(25 * HOUR);
    expect((await propose(api, 101)).body.error).toContain("was erased");
    const third = await set(api, 100, { target: "price.max" });
    const { store } = api.deps;
    await store.transact(async (tx) => {
      const { value } = (await tx.get("changes", third))!;
      tx.put("changes", third, JSON.parse(JSON.stringify(value).replaceAll(":100", ":900")) as never);
    });
    const { body } = await propose(api, 901, { target: "price.max" });
    expect([body.code, body.error]).toEqual(["value_not_allowed", expect.stringContaining("does not match the log")]);
  });
});

describe("what the target system holds", () => {
  test("is the base where our record says nothing, as the proposal found it", async () => {
    const { api, hold } = await onSystem();
    hold("100");
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    const change = await approved(api, 105);
    hold("200");
    expect((await apply(api, change)).status).toBe(200);
    // Small steps are one: the first of these hours says what was there before.
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
    await api.must("rollback", change);
    hold("1");
    expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
  });

  test("is read by the apply where the rule is younger than the proposal", async () => {
    const { api, hold } = await onSystem([]);
    hold("100");
    const change = await approved(api, 106);
    const later = makeService(await restarted(api.deps, { intent: { policy: { targets: [STEP] } } }));
    expect((await apply(later, change)).body.range).toEqual({ minimum: 95, maximum: 105 });
  });

  test("is no first value when it cannot be read or is no number", async () => {
    const { api, hold, setFailing } = await onSystem();
    hold("100");
    setFailing(true);
    expect((await propose(api, 106)).body).toMatchObject({
      code: "value_not_allowed",
      error: expect.stringContaining("cannot be read now"),
    });
    setFailing(false);
    hold('"100"');
    expect((await propose(api, 106)).body.error).toContain("it held no number before");
    hold(undefined);
    expect(await verdict(api, 106)).toBe("allowed");
  });
});

test("two applies and a rollback that run together stay within one step", async () => {
  const { api, hold } = await onSystem();
  hold("100");
  const changes = await Promise.all([105, 95, 104, 96].map((value) => approved(api, value)));
  const replies = await Promise.all(changes.map((change_id) => apply(api, change_id)));
  expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  api.deps.clock.advance(MINUTE);
  expect(await verdict(api, 106)).toEqual({ minimum: 95, maximum: 105 });
});

describe("before anything is proposed", () => {
  test("the policy of a target says its rules and what is allowed now", async () => {
    const schema = { type: "number", minimum: 0 };
    const api = await priced([
      { ...STEP, schema },
      { match: ["seats"], kpi_required: true },
    ]);
    const rules = [{ ...STEP, max_step: { relative: 0.05, hours: 24 }, schema }];
    const ask = async (query: string) => (await api.get(`policy?${query}`)).body;
    expect(await ask("target=price.pro")).toEqual({ rules, limits: [], preview: null });
    expect(await ask("target=other&tenant_id=t1")).toEqual({ rules: [], limits: [], preview: null });
    const none = { path: "value", base: [], minimum: null, maximum: null, problem: null };
    expect(await ask("target=price.pro&tenant_id=t1")).toEqual({ rules, limits: [none], preview: null });
    await set(api, 100);
    expect((await ask("target=PRICE.pro&tenant_id=t1")).limits).toEqual([
      { path: "value", base: [100], minimum: 95, maximum: 105, problem: null },
    ]);
    expect((await ask("target=price.pro&tenant_id=t2")).limits).toEqual([none]);
  });
});

describe("a split", () => {
  const split = (...values: unknown[]) => ({
    $split: { shares: values.map((value, index) => [`v${index}`, value, 10_000 / values.length]) },
  });

  test("is judged by the value of each share, and each is a base", async () => {
    const api = await priced([{ ...STEP, schema: { type: "number", maximum: 110 } }]);
    await set(api, split(100, 104));
    expect((await propose(api, split(100, 111))).body).toMatchObject({
      path: "value.$split.shares.1.1",
      rule: "maximum",
    });
    expect((await propose(api, split(98, 100))).body).toMatchObject({
      path: "value.$split.shares.0.1",
      range: { minimum: 98.8, maximum: 105 },
      base: [100, 104],
    });
    expect(await verdict(api, 105.01)).toEqual({ minimum: 98.8, maximum: 105 });
    expect(await verdict(api, split(99, 105))).toBe("allowed");
    expect((await propose(api, split(99, "100"))).body.path).toBe("value.$split.shares.1.1");
  });

  test("of another form is no number", async () => {
    const api = await priced();
    expect((await propose(api, { $split: { shares: [["a", 100, 9000]] } })).body.code).toBe("value_not_allowed");
  });
});
