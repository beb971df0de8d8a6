/** Proposals of plans: validation, counts, promotion, search and erasure. */
import { describe, expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { findSupersedeProblem } from "../../../../lib/changes/rules/supersede.ts";
import { service, type TestService } from "../../../support/service.ts";

const makeEntry = (target: string, value: unknown = 1, tenant_id = "t1") => ({ tenant_id, target, value });
const SETS = [makeEntry("ui.a"), makeEntry("ui.b", null), makeEntry("limits.seats", 50, "t2")];
const plan = (sets: readonly object[] = SETS, fields: object = {}) => ({
  ...{ tenant_id: "*", kind: "config", target: "release.7", summary: "Relaunch", sets },
  ...fields,
});
const propose = (api: TestService, sets?: readonly object[], fields?: object) =>
  api.json("propose", plan(sets, fields));
const makeEntries = (count: number) => Array.from({ length: count }, (_, index) => makeEntry(`ui.${index}`));

test("a plan has one digest of all its entries, and its entry in the log names their targets", async () => {
  const api = await service();
  const { status, body } = await propose(api);
  expect([status, body.sets, body.target, body.tenant_id]).toEqual([201, SETS, "release.7", "*"]);
  expect(body).not.toHaveProperty("value");
  expect(body).not.toHaveProperty("sets_nothing");
  const detail = JSON.parse(body.audit_entry.detail);
  expect(detail.sets).toEqual(SETS.map(({ tenant_id, target }) => ({ tenant_id, target })));
  const other = await propose(api, [SETS[1]!, SETS[0]!, SETS[2]!]);
  expect(other.body.digest).not.toBe(body.digest);
  expect(other.body.conflicts).toEqual([body.change_id]);
  expect((await api.change(body.change_id)).sets).toEqual(SETS);
});

test.each<[string, object[] | undefined, object, string]>([
  ["one entry", makeEntries(1), {}, "sets"],
  ["21 entries", makeEntries(21), {}, "sets"],
  ["a target twice", [...SETS, makeEntry("UI.A", 2)], {}, "sets.3"],
  ["an entry without a value", [makeEntry("ui.a"), { tenant_id: "t1", target: "ui.b" }], {}, "sets.1.value"],
  ["an entry without a tenant", [makeEntry("ui.a"), { target: "ui.b", value: 1 }], {}, "sets.1.tenant_id"],
  ["an invalid target", [makeEntry("ui.a"), makeEntry("../b")], {}, "sets.1.target"],
  ["a value of its own", SETS, { value: 1 }, "value"],
  ["no tenant", SETS, { tenant_id: undefined }, "tenant_id"],
])("a plan with %s is rejected, and the error names the field", async (_, sets, fields, field) => {
  const api = await service();
  const { status, body } = await propose(api, sets, fields);
  expect([status, body.code, body.fields[0].field]).toEqual([400, "invalid_field", field]);
});

test("a plan with stages or with a number that would be rounded is rejected", async () => {
  const api = await service();
  const stages = {
    ...{ steps: [{ share: 100, advance: "manual", min_hours: 1 }], fed_by: "agent:one", unit: "user" },
    ...{ watch: [{ kpi: "csat", good: "up", allowed: 1 }] },
  };
  const staged = await propose(api, SETS, { stages });
  expect([staged.status, staged.body.code]).toEqual([400, "invalid_field"]);
  const text = JSON.stringify(plan()).replace(":50", ":9007199254740993");
  const reply = await api.raw("propose", text, { "content-type": "application/json" });
  expect([reply.status, reply.body.fields]).toEqual([
    400,
    [{ field: "sets.2.value", message: expect.stringContaining("send it as a string") }],
  ]);
});

test("a form sends the entries of a plan as JSON text", async () => {
  const api = await service();
  const { status, body } = await api.post("propose", { ...plan(), sets: JSON.stringify(SETS) } as never);
  expect([status, body.sets]).toEqual([201, SETS]);
});

test("rules with patterns also apply to the name of a plan", async () => {
  const api = await service({ intent: { policy: { forbidden_targets: ["release.*"] } } });
  expect((await propose(api)).body.code).toBe("forbidden_target");
});

describe("in a daily limit", () => {
  test("each entry of a plan counts as a minor change", async () => {
    const minor = { kinds: ["config"], targets: ["*"], max_per_day: 4 };
    const api = await service({ intent: { policy: { minor } } });
    const minorFields = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
    const tier = async (sets: readonly object[]) => (await propose(api, sets, minorFields)).body.tier;
    // Four a day: five entries are too many; three are minor, and then two more are too many, but one is not.
    expect([await tier(makeEntries(5)), await tier(SETS), await tier(makeEntries(2))]).toEqual([
      "standard",
      "minor",
      "standard",
    ]);
    const single = { tenant_id: "t1", kind: "config", target: "ui.x", summary: "s", value: 1, ...minorFields };
    expect([(await api.json("propose", single)).body.tier, (await api.json("propose", single)).body.tier]).toEqual([
      "minor",
      "standard",
    ]);
  });

  test("each entry of a plan counts as a proposal of an agent", async () => {
    const may = { max_per_day: 5 };
    const principals = { "agent:one": { kind: "agent", token_sha256: portableSha256("s"), may } };
    const api = await service({ intent: { principals } });
    const asAgent = (sets: readonly object[]) =>
      api.json("propose", plan(sets), { authorization: "Bearer s" }).then(({ status }) => status);
    // Five a day: three are used; another three are too many, and two are not.
    expect([await asAgent(SETS), await asAgent(SETS), await asAgent(makeEntries(2))]).toEqual([201, 429, 201]);
  });
});

test("each target of a plan is recorded in the spelling that was first applied", async () => {
  const api = await service();
  await api.bring("applied", { ...makeEntry("Limits.Seats", "40", "t2"), kind: "config" } as never);
  const { body } = await propose(api);
  expect(body.sets[2].target).toBe("Limits.Seats");
  expect(body.target_spelling).toContain("Recorded as Limits.Seats");
});

test.each<[string, object, object, string | undefined]>([
  ["a change, by a plan that sets its target", makeEntry("ui.a"), plan(), undefined],
  ["a change, by a plan of other targets", makeEntry("ui.c"), plan(), "names a change that is applied to ui.c"],
  ["a change of another tenant", makeEntry("ui.a", 1, "t3"), plan(), "names a change of another tenant"],
  ["a plan, by a change of one of its targets", plan(), makeEntry("ui.a"), "names a change"],
  ["a plan, by a plan that sets more targets", plan(), plan([...SETS, makeEntry("ui.d")]), undefined],
])(
  "a proposal may supersede an applied change only if it sets all of its targets: %s",
  (_, superseded, proposal, problem) => {
    const reported = findSupersedeProblem({ status: "applied", ...superseded } as never, proposal as never);
    expect(reported?.slice(0, problem?.length)).toBe(problem);
  },
);

describe("a plan that is promoted", () => {
  const promote = async (sets: readonly object[], fields: object) => {
    const api = await service();
    const { change_id } = (await propose(api, sets)).body;
    const { status, body } = await api.json("propose", { promotes: change_id, summary: "On to it", ...fields });
    return status === 201 ? body.sets : body.fields[0].field;
  };

  test("sets the same values for one tenant", async () => {
    const sets = await promote(SETS, { tenant_id: "production" });
    expect(sets).toEqual(SETS.map((entry) => ({ ...entry, tenant_id: "production" })));
  });

  test.each<[string, object[], object, string]>([
    [
      "where two entries get the same target",
      [makeEntry("ui.a"), makeEntry("UI.A", 2, "t2")],
      { tenant_id: "production" },
      "promotes",
    ],
    ["to its own tenant", makeEntries(2), { tenant_id: "t1" }, "tenant_id"],
    ["under another name", SETS, { tenant_id: "production", target: "release.8" }, "target"],
    ["with other values", SETS, { tenant_id: "production", sets: makeEntries(2) }, "sets"],
  ])("is rejected %s", async (_, sets, fields, field) => {
    expect(await promote(sets, fields)).toBe(field);
  });
});

test("queries find a plan by each of its targets and tenants, and by its name", async () => {
  const api = await service();
  const { change_id } = (await propose(api)).body;
  await api.propose({ target: "ui.z", tenant_id: "t9" });
  const find = async (q: string) =>
    (await api.get(`/api/find?q=${encodeURIComponent(q)}`)).body.rows.map(
      (row: { change_id: string }) => row.change_id,
    );
  for (const query of ["target:limits.*", "tenant:t2", "target:release.7", "plan:release.*", "seats"])
    expect(await find(query), query).toEqual([change_id]);
  expect(await find("tenant:t9")).not.toContain(change_id);
  const runtime = async (query: string) => (await api.get(`runtime?${query}`)).body.changes.length;
  expect([await runtime("target=limits.*"), await runtime("tenant_id=t2"), await runtime("tenant_id=t3")]).toEqual([
    1, 1, 0,
  ]);
});

test("the values of a plan can be erased, and its targets remain", async () => {
  const api = await service();
  const { change_id } = (await propose(api)).body;
  await api.must("deny", change_id);
  const { body } = await api.post("erase", { change_id, actor: "ana" });
  expect(body.change.sets).toEqual(SETS.map(({ tenant_id, target }) => ({ tenant_id, target })));
  expect((await api.get("audit/verify")).body.valid).toBe(true);
  expect(JSON.stringify(await api.deps.store.get("changes", change_id))).not.toContain("50");
});
