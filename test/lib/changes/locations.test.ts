/** Locations of a change (the field `places`): recorded at the proposal, signed by consents, and required by operations. */
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { Entry } from "../../../lib/targets/port.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { describeMove, requireFreeLocations } from "../../../lib/changes/locations.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, type TestService } from "../../support/service.ts";

const FLAG_PROPOSAL = { tenant_id: "t1", target: "flags/a", value: "1", reversible: true };

/** Opens a service with one system in memory; `moved` maps targets to another location. */
async function serviceWithLocations(moved: Record<string, string> = {}) {
  const { system, overwrite, ...rest } = memoryTarget();
  const place = (entry: Entry): string => `memory ${moved[entry.target] ?? entry.target}`;
  const adapter = targetAdapter({ ...system, name: "flags", place }, { store: memoryStore(), clock: systemClock });
  const configuration = { hash: "1".repeat(64), systems: [{ name: "flags", type: "memory", match: ["flags/*"] }] };
  const routed = routingAdapter([{ name: "flags", match: ["flags/*"], adapter }], configuration);
  const api = await service({ adapter: routed });
  return { api, adapter: routed, moved, configuration, overwrite, ...rest };
}

const readEntries = async (api: TestService) => (await api.get("audit?limit=100")).body.entries as EntryRow[];
interface EntryRow {
  event_type: string;
  change_id: string;
  detail: string;
}
const findDetail = (entries: EntryRow[], type: string) =>
  JSON.parse(entries.find(({ event_type }) => event_type === type)?.detail ?? "{}");

test("a change and its proposal's entry have the location of its value", async () => {
  const { api } = await serviceWithLocations();
  const change = await api.propose(FLAG_PROPOSAL);
  const places = [{ tenant_id: "t1", target: "flags/a", system: "flags", place: "memory flags/a" }];
  expect(change.places).toEqual(places);
  expect(findDetail(await readEntries(api), "change_proposed").places).toEqual(places);
  const { value: _, ...withoutValue } = FLAG_PROPOSAL;
  expect(await api.propose(withoutValue)).not.toHaveProperty("places");
});

test("a target that no system covers is rejected at the proposal", async () => {
  const { api } = await serviceWithLocations();
  const reply = await api.post("propose", {
    ...FLAG_PROPOSAL,
    target: "billing.plan",
    kind: "config",
    summary: "Set it",
  });
  expect([reply.status, reply.body.code]).toEqual([400, "no_target_system"]);
});

test("a configuration of target systems is logged before the first change under it", async () => {
  const { api, configuration } = await serviceWithLocations();
  await api.propose(FLAG_PROPOSAL);
  await api.propose(FLAG_PROPOSAL);
  const entries = await readEntries(api);
  const types = entries.map(({ event_type }) => event_type);
  expect(types.filter((type) => type === "targets_in_force")).toHaveLength(1);
  expect(types.indexOf("targets_in_force")).toBeLessThan(types.indexOf("change_proposed"));
  expect(findDetail(entries, "targets_in_force")).toMatchObject(configuration);
  configuration.hash = "2".repeat(64);
  await api.propose(FLAG_PROPOSAL);
  const later = (await readEntries(api)).filter(({ event_type }) => event_type === "targets_in_force");
  expect(later).toHaveLength(2);
});

test("the removal of all target systems is logged before the next change", async () => {
  const { api, adapter } = await serviceWithLocations();
  await api.propose(FLAG_PROPOSAL);
  delete (adapter as { configuration?: unknown }).configuration;
  await api.propose(FLAG_PROPOSAL);
  await api.propose(FLAG_PROPOSAL);
  const entries = await readEntries(api);
  const types = entries.map(({ event_type }) => event_type);
  const index = types.lastIndexOf("targets_in_force");
  expect(types.filter((type) => type === "targets_in_force")).toHaveLength(2);
  expect(types.slice(index, index + 2)).toEqual(["targets_in_force", "change_proposed"]);
  expect(JSON.parse(entries[index]!.detail)).toMatchObject({ hash: null, systems: [] });
  expect(await api.deps.store.get("meta", "targets")).toBeUndefined();
});

test("an apply at another location than the consented one is 409 target_moved", async () => {
  const { api, moved } = await serviceWithLocations();
  const id = await api.bring("approved", FLAG_PROPOSAL);
  moved["flags/a"] = "elsewhere";
  const reply = await api.post("apply", { change_id: id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_moved"]);
  expect(reply.body.places).toMatchObject({
    recorded: [{ place: "memory flags/a" }],
    now: [{ place: "memory elsewhere" }],
  });
  delete moved["flags/a"];
  await api.must("apply", id);
});

test("a rollback at another location needs over_drift, and its error names both", async () => {
  const { api, moved } = await serviceWithLocations();
  const id = await api.bring("applied", FLAG_PROPOSAL);
  moved["flags/a"] = "elsewhere";
  const reply = await api.post("rollback", { change_id: id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_drifted"]);
  expect(reply.body.places).toMatchObject({
    recorded: [{ place: "memory flags/a" }],
    now: [{ place: "memory elsewhere" }],
  });
  const overDrift = await api.post("rollback", { change_id: id, over_drift: "true", note: "The file was renamed." });
  expect(overDrift.body).toMatchObject({ status: "rolled_back" });
});

test("a location that differs in case only is described as another spelling", () => {
  const at = (place: string) => [{ tenant_id: "t1", target: "flags/a", system: "flags", place }];
  expect(describeMove({ recorded: at("t1:Cap"), now: at("t1:cap") })).toBe(
    "by the configuration it is set at t1:cap (flags), and by its proposal at t1:Cap (flags); only the spelling differs",
  );
  expect(describeMove({ recorded: at("a"), now: at("b") })).not.toContain("spelling");
});

test("an unresolved operation at an old location is resolved by revoke or over_drift", async () => {
  const { api, moved, faults } = await serviceWithLocations();
  const proposed = await api.bring("approved", FLAG_PROPOSAL);
  faults.push("lost answer");
  await api.post("apply", { change_id: proposed });
  moved["flags/a"] = "elsewhere";
  const again = await api.post("apply", { change_id: proposed });
  expect([again.status, again.body.code]).toEqual([409, "operation_in_progress"]);
  expect(again.body.error).toMatch(/set at memory elsewhere .*; set the configuration as it was, or revoke chg_/);
  await api.must("revoke", proposed);
  const applied = await api.bring("applied", FLAG_PROPOSAL);

  faults.push("lost answer");
  await api.post("rollback", { change_id: applied });
  moved["flags/a"] = "a third place";
  const repeated = await api.post("rollback", { change_id: applied });
  expect([repeated.status, repeated.body.code]).toEqual([409, "operation_in_progress"]);
  expect(repeated.body.error).toMatch(/set at memory a third place .*, or roll chg_\S+ back with over_drift/);
  const overDrift = await api.post("rollback", {
    change_id: applied,
    over_drift: "true",
    note: "The key was renamed.",
  });
  expect(overDrift.body).toMatchObject({ status: "rolled_back" });
});

test("drift is not checked while the target has another location", async () => {
  const { api, moved, overwrite } = await serviceWithLocations();
  const id = await api.bring("applied", FLAG_PROPOSAL);
  moved["flags/a"] = "elsewhere";
  overwrite({ tenant_id: "t1", target: "flags/a", kind: "config" }, '"by hand"');
  await checkDrift(api.deps);
  const drifted = async () => (await readEntries(api)).filter(({ event_type }) => event_type === "change_drifted");
  expect(await drifted()).toHaveLength(0);
  delete moved["flags/a"];
  await checkDrift(api.deps);
  expect((await drifted()).map(({ change_id }) => change_id)).toEqual([id]);
});

test("a location belongs to the first target applied there", async () => {
  const { api, moved } = await serviceWithLocations({ "flags/b": "flags/a" });
  const [first, second] = [
    await api.bring("approved", FLAG_PROPOSAL),
    await api.bring("approved", { ...FLAG_PROPOSAL, target: "flags/b" }),
  ];
  await api.must("apply", first);
  const apply = await api.post("apply", { change_id: second });
  expect([apply.status, apply.body.code]).toEqual([409, "target_conflict"]);
  const proposal = await api.post("propose", {
    ...FLAG_PROPOSAL,
    target: "flags/b",
    kind: "config",
    summary: "Set it",
  });
  expect([proposal.status, proposal.body.code]).toEqual([409, "target_conflict"]);
  expect(proposal.body.error).toContain("memory flags/a belongs to flags/a of tenant t1");
  // For an agent that reads only its own changes, the error does not name the other target.
  const { places } = (await readRecord(api.deps.store, second))!.change;
  const hidden = requireFreeLocations(api.deps.store, places, api.deps.sha256, { name: "agent:one" });
  await expect(hidden).rejects.toThrow("memory flags/a belongs to another target;");
  delete moved["flags/b"];
  await api.propose({ ...FLAG_PROPOSAL, target: "flags/b" });
});

test("a change for a release gate is recorded, and has no location", async () => {
  const gate = {
    name: "deploy",
    match: ["deploy/*"],
    adapter: { ...routingAdapter([]), name: "deploy", carries: () => false },
  };
  const api = await service({ adapter: routingAdapter([gate]) });
  const id = await api.bring("applied", { ...FLAG_PROPOSAL, target: "deploy/42/production" });
  const { body } = await api.get(`changes/${id}`);
  expect(body).not.toHaveProperty("places");
  await api.must("rollback", id);
});

test("changes of one target on two systems, by kind, can be rolled back in any order", async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    const store = memoryStore();
    const [first, second] = [memoryTarget(), memoryTarget()];
    const makeAdapter = ({ system }: typeof first, name: string) =>
      targetAdapter({ ...system, name, place: () => name }, { store, clock: systemClock });
    const api = await service({
      adapter: routingAdapter([
        { name: "settings", match: ["app/*"], kinds: ["config"], adapter: makeAdapter(first, "at settings") },
        { name: "flags", match: ["app/*"], kinds: ["feature_flag"], adapter: makeAdapter(second, "at flags") },
      ]),
    });
    const entry = { tenant_id: "t1", target: "app/x", kind: "config" } as const;
    first.overwrite(entry, '"v0"');
    second.overwrite(entry, '"w0"');
    const ids = [
      await api.bring("applied", { ...FLAG_PROPOSAL, target: "app/x", value: '"vA"', kind: "config" }),
      await api.bring("applied", { ...FLAG_PROPOSAL, target: "app/x", value: '"wB"', kind: "feature_flag" }),
    ];
    expect([first.raw(entry), second.raw(entry)]).toEqual(['"vA"', '"wB"']);
    for (const index of order) await api.must("rollback", ids[index]!);
    expect([first.raw(entry), second.raw(entry)]).toEqual(['"v0"', '"w0"']);
  }
});

test("a value is set under the spelling of the change that sets it", async () => {
  const { api, faults, raw } = await serviceWithLocations();
  // The apply of the other spelling fails: the log contains this spelling, and the system does not.
  faults.push("rejected");
  const other = await api.bring("approved", { ...FLAG_PROPOSAL, target: "flags/Seats" });
  expect((await api.post("apply", { change_id: other })).status).toBe(502);
  const id = await api.bring("approved", { ...FLAG_PROPOSAL, target: "flags/seats" });
  const reply = await api.post("apply", { change_id: id });
  expect(reply.status).toBe(200);
  const readRaw = (target: string) => raw({ tenant_id: "t1", target, kind: "config" });
  expect([readRaw("flags/seats"), readRaw("flags/Seats")]).toEqual(["1", undefined]);
});

test("a forbidden target is rejected before a missing target system", async () => {
  const adapter = routingAdapter([{ name: "flags", match: ["flags/*"], adapter: scriptedAdapter() }]);
  const api = await service({ adapter, intent: { policy: { forbidden_targets: ["billing.*"] } } });
  const reply = await api.post("propose", {
    ...FLAG_PROPOSAL,
    target: "billing.plan",
    kind: "config",
    summary: "Set it",
  });
  expect([reply.status, reply.body.code]).toEqual([403, "forbidden_target"]);
});
