/** The places of a change are recorded with its proposal, signed by consents, and followed by every operation. */
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { Entry } from "../../../lib/targets/port.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { requireFreeLocations } from "../../../lib/changes/locations.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, type TestService } from "../../support/service.ts";

const VALUE = { tenant_id: "t1", target: "flags/a", value: "1", reversible: true };

/** A service over one system in memory, whose place the configuration moves. */
async function placed(at: Record<string, string> = {}) {
  const { system, overwrite, ...rest } = memoryTarget();
  const place = (entry: Entry): string => `memory ${at[entry.target] ?? entry.target}`;
  const adapter = targetAdapter({ ...system, name: "flags", place }, { store: memoryStore(), clock: systemClock });
  const configuration = { hash: "1".repeat(64), systems: [{ name: "flags", type: "memory", match: ["flags/*"] }] };
  const routed = routingAdapter([{ name: "flags", match: ["flags/*"], adapter }], configuration);
  const api = await service({ adapter: routed });
  return { api, adapter: routed, at, configuration, overwrite, ...rest };
}

const entries = async (api: TestService) => (await api.get("audit?limit=100")).body.entries as Entered[];
interface Entered {
  event_type: string;
  change_id: string;
  detail: string;
}
const detailOf = (found: Entered[], type: string) =>
  JSON.parse(found.find(({ event_type }) => event_type === type)?.detail ?? "{}");

test("a change shows where its value is set, and the proposal's entry has it", async () => {
  const { api } = await placed();
  const change = await api.propose(VALUE);
  const places = [{ tenant_id: "t1", target: "flags/a", system: "flags", place: "memory flags/a" }];
  expect(change.places).toEqual(places);
  expect(detailOf(await entries(api), "change_proposed").places).toEqual(places);
  const { value: _, ...without } = VALUE;
  expect(await api.propose(without)).not.toHaveProperty("places");
});

test("a target that no system covers is rejected at the proposal", async () => {
  const { api } = await placed();
  const reply = await api.post("propose", { ...VALUE, target: "billing.plan", kind: "config", summary: "Set it" });
  expect([reply.status, reply.body.code]).toEqual([400, "no_target_system"]);
});

test("a configuration of systems is in the log before the first change under it", async () => {
  const { api, configuration } = await placed();
  await api.propose(VALUE);
  await api.propose(VALUE);
  const found = await entries(api);
  const types = found.map(({ event_type }) => event_type);
  expect(types.filter((type) => type === "targets_in_force")).toHaveLength(1);
  expect(types.indexOf("targets_in_force")).toBeLessThan(types.indexOf("change_proposed"));
  expect(detailOf(found, "targets_in_force")).toMatchObject(configuration);
  configuration.hash = "2".repeat(64);
  await api.propose(VALUE);
  const later = (await entries(api)).filter(({ event_type }) => event_type === "targets_in_force");
  expect(later).toHaveLength(2);
});

test("a start without target systems after one with them is recorded before the next change", async () => {
  const { api, adapter } = await placed();
  await api.propose(VALUE);
  delete (adapter as { configuration?: unknown }).configuration;
  await api.propose(VALUE);
  await api.propose(VALUE);
  const found = await entries(api);
  const types = found.map(({ event_type }) => event_type);
  const place = types.lastIndexOf("targets_in_force");
  expect(types.filter((type) => type === "targets_in_force")).toHaveLength(2);
  expect(types.slice(place, place + 2)).toEqual(["targets_in_force", "change_proposed"]);
  expect(JSON.parse(found[place]!.detail)).toMatchObject({ hash: null, systems: [] });
  expect(await api.deps.store.get("meta", "targets")).toBeUndefined();
});

test("an apply at another place than the consent was given for is 409 target_moved", async () => {
  const { api, at } = await placed();
  const id = await api.bring("approved", VALUE);
  at["flags/a"] = "elsewhere";
  const reply = await api.post("apply", { change_id: id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_moved"]);
  expect(reply.body.places).toMatchObject({
    recorded: [{ place: "memory flags/a" }],
    now: [{ place: "memory elsewhere" }],
  });
  delete at["flags/a"];
  await api.must("apply", id);
});

test("a rollback at another place needs over_drift, and names both places", async () => {
  const { api, at } = await placed();
  const id = await api.bring("applied", VALUE);
  at["flags/a"] = "elsewhere";
  const reply = await api.post("rollback", { change_id: id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_drifted"]);
  expect(reply.body.places).toMatchObject({
    recorded: [{ place: "memory flags/a" }],
    now: [{ place: "memory elsewhere" }],
  });
  const over = await api.post("rollback", { change_id: id, over_drift: "true", note: "The file was renamed." });
  expect(over.body).toMatchObject({ status: "rolled_back" });
});

test("an operation left at a place of the past ends with a revocation, or with over_drift", async () => {
  const { api, at, faults } = await placed();
  const proposed = await api.bring("approved", VALUE);
  faults.push("lost answer");
  await api.post("apply", { change_id: proposed });
  at["flags/a"] = "elsewhere";
  const again = await api.post("apply", { change_id: proposed });
  expect([again.status, again.body.code]).toEqual([409, "operation_in_progress"]);
  expect(again.body.error).toMatch(/set at memory elsewhere .*; set the configuration as it was, or revoke chg_/);
  await api.must("revoke", proposed);
  const applied = await api.bring("applied", VALUE);

  faults.push("lost answer");
  await api.post("rollback", { change_id: applied });
  at["flags/a"] = "a third place";
  const back = await api.post("rollback", { change_id: applied });
  expect([back.status, back.body.code]).toEqual([409, "operation_in_progress"]);
  expect(back.body.error).toMatch(/set at memory a third place .*, or roll chg_\S+ back with over_drift/);
  const over = await api.post("rollback", { change_id: applied, over_drift: "true", note: "The key was renamed." });
  expect(over.body).toMatchObject({ status: "rolled_back" });
});

test("drift is not looked for at another place", async () => {
  const { api, at, overwrite } = await placed();
  const id = await api.bring("applied", VALUE);
  at["flags/a"] = "elsewhere";
  overwrite({ tenant_id: "t1", target: "flags/a", kind: "config" }, '"by hand"');
  await checkDrift(api.deps);
  const drifted = async () => (await entries(api)).filter(({ event_type }) => event_type === "change_drifted");
  expect(await drifted()).toHaveLength(0);
  delete at["flags/a"];
  await checkDrift(api.deps);
  expect((await drifted()).map(({ change_id }) => change_id)).toEqual([id]);
});

test("a place belongs to the first target that was set there, at a proposal and at an apply", async () => {
  const { api, at } = await placed({ "flags/b": "flags/a" });
  const [first, second] = [
    await api.bring("approved", VALUE),
    await api.bring("approved", { ...VALUE, target: "flags/b" }),
  ];
  await api.must("apply", first);
  const apply = await api.post("apply", { change_id: second });
  expect([apply.status, apply.body.code]).toEqual([409, "target_conflict"]);
  const proposal = await api.post("propose", { ...VALUE, target: "flags/b", kind: "config", summary: "Set it" });
  expect([proposal.status, proposal.body.code]).toEqual([409, "target_conflict"]);
  expect(proposal.body.error).toContain("memory flags/a belongs to flags/a of tenant t1");
  // An agent that reads its own changes does not learn whose it is.
  const { places } = (await readRecord(api.deps.store, second))!.change;
  const hidden = requireFreeLocations(api.deps.store, places, api.deps.sha256, { name: "agent:one" });
  await expect(hidden).rejects.toThrow("memory flags/a belongs to another target;");
  delete at["flags/b"];
  await api.propose({ ...VALUE, target: "flags/b" });
});

test("a change of a gate is recorded, and sets nothing", async () => {
  const gate = {
    name: "deploy",
    match: ["deploy/*"],
    adapter: { ...routingAdapter([]), name: "deploy", carries: () => false },
  };
  const api = await service({ adapter: routingAdapter([gate]) });
  const id = await api.bring("applied", { ...VALUE, target: "deploy/42/production" });
  const { body } = await api.get(`changes/${id}`);
  expect(body).not.toHaveProperty("places");
  await api.must("rollback", id);
});

test("two systems of one target by kind are rolled back each by itself, in any order", async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    const store = memoryStore();
    const [first, second] = [memoryTarget(), memoryTarget()];
    const adapterOf = ({ system }: typeof first, name: string) =>
      targetAdapter({ ...system, name, place: () => name }, { store, clock: systemClock });
    const api = await service({
      adapter: routingAdapter([
        { name: "settings", match: ["app/*"], kinds: ["config"], adapter: adapterOf(first, "at settings") },
        { name: "flags", match: ["app/*"], kinds: ["feature_flag"], adapter: adapterOf(second, "at flags") },
      ]),
    });
    const entry = { tenant_id: "t1", target: "app/x", kind: "config" } as const;
    first.overwrite(entry, '"v0"');
    second.overwrite(entry, '"w0"');
    const ids = [
      await api.bring("applied", { ...VALUE, target: "app/x", value: '"vA"', kind: "config" }),
      await api.bring("applied", { ...VALUE, target: "app/x", value: '"wB"', kind: "feature_flag" }),
    ];
    expect([first.raw(entry), second.raw(entry)]).toEqual(['"vA"', '"wB"']);
    for (const index of order) await api.must("rollback", ids[index]!);
    expect([first.raw(entry), second.raw(entry)]).toEqual(['"v0"', '"w0"']);
  }
});

test("a change is never set under another spelling than its place names", async () => {
  const { api, faults, raw } = await placed();
  faults.push("rejected");
  const other = await api.bring("approved", { ...VALUE, target: "flags/Seats" });
  expect((await api.post("apply", { change_id: other })).status).toBe(502);
  const id = await api.bring("approved", { ...VALUE, target: "flags/seats" });
  const reply = await api.post("apply", { change_id: id });
  expect(reply.status).toBe(200);
  const held = (target: string) => raw({ tenant_id: "t1", target, kind: "config" });
  expect([held("flags/seats"), held("flags/Seats")]).toEqual(["1", undefined]);
});

test("a forbidden target is rejected and recorded, whatever covers it", async () => {
  const adapter = routingAdapter([{ name: "flags", match: ["flags/*"], adapter: scriptedAdapter() }]);
  const api = await service({ adapter, intent: { policy: { forbidden_targets: ["billing.*"] } } });
  const reply = await api.post("propose", { ...VALUE, target: "billing.plan", kind: "config", summary: "Set it" });
  expect([reply.status, reply.body.code]).toEqual([403, "forbidden_target"]);
});
