/** The log index of a process: the part of the log that it covers, and the entries that it finds. */
import { expect, test } from "vitest";
import { createLogIndex } from "../../../lib/audit/log_index.ts";
import { extendLogIndex } from "../../../lib/audit/read_log.ts";
import { openProduct } from "../../../lib/changes/open_product.ts";
import { nameQuery, targetQuery, findSubjects } from "../../../lib/changes/subjects.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { DAY } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { type TestDeps, type TestOptions, restartDeps } from "../../support/deps.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { failingStore } from "../../support/failing_store.ts";

/** More entries than one read of the log has (`MAX_READ_IN_TRANSACTION` and slices of 250). */
const MORE_THAN_ONE_READ = 300;

/** Starts another process that has read only the newest entry. */
async function startWithNewestEntry(deps: TestDeps, options: TestOptions = {}): Promise<TestDeps> {
  const other = await restartDeps(deps, options);
  await openProduct(other, { tail: 1 });
  return other;
}

test("a process reads back as far as a change's first entry, and no further", async () => {
  const api = await core();
  const before = await api.bring("applied");
  const id = await api.bring("approved");
  for (let index = 0; index < MORE_THAN_ONE_READ; index++) await api.propose({ target: `t${index}` });
  const other = makeCore(await startWithNewestEntry(api.deps));
  const { length } = await api.audit("?limit=1000");
  expect(other.deps.integrity.logIndex!.after).toBe(length - 1);
  expect((await other.must("apply", id)).status).toBe("applied");
  const { audit } = (await other.deps.store.get("changes", id))!.value;
  expect(other.deps.integrity.logIndex!.after).toBe(audit[0]! - 1);
  expect((await other.must("rollback", before)).status).toBe("rolled_back");
});

test("a process reads back to the start of the day to count minor changes", async () => {
  const intent = { policy: { minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 } } };
  const api = await core({ intent });
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  await api.propose(minor);
  api.deps.clock.advance(DAY);
  await api.propose(minor);
  await api.propose(minor);
  for (let index = 0; index < 20; index++) await api.propose({ target: `t${index}` });
  const other = makeCore(await startWithNewestEntry(api.deps, { intent }));
  expect((await other.propose(minor)).tier).toBe("standard");
});

test("a failed write is not taken as part of the log, and causes no breach", async () => {
  const store = failingStore(memoryStore());
  const api = await core({ store });
  const id = await api.bring("approved");
  store.fail();
  expect((await api.act("apply", id)).status).toBe(503);
  expect((await api.post("kpi", { csat: 4 })).status).toBe(503);
  store.recover();
  expect((await api.act("apply", id)).status).toBe(200);
  expect((await api.act("rollback", id)).status).toBe(200);
  expect(api.deps.integrity.breach).toBeUndefined();
});

test("two processes on one store read each other's entries", async () => {
  const first = await core();
  const second = makeCore(await restartDeps(first.deps));
  const [firstChange, secondChange] = [
    await first.bring("approved"),
    await second.bring("approved", { target: "ui.b" }),
  ];
  for (let round = 0; round < MORE_THAN_ONE_READ; round++) await first.post("kpi", { csat: round });
  expect((await second.act("apply", firstChange)).status).toBe(200);
  expect((await first.act("apply", secondChange)).status).toBe(200);
});

test("entries that are read backwards are verified against the entry after them", async () => {
  const api = await core();
  for (let count = 0; count < 5; count++) await api.propose({ target: `t${count}` });
  const { deps } = api;
  const { length, head } = (await deps.store.get("meta", "chain"))!.value;
  const [secondEntry, thirdEntry] = await deps.store.getMany("audit", ["0000000000000002", "0000000000000003"]);
  const forged = { ...secondEntry!.value, id: 3, previous_hash: thirdEntry!.value.previous_hash };
  await deps.store.transact((tx) => tx.put("audit", thirdEntry!.id, { ...forged, current_hash: hashEntry(forged) }));
  await expect(extendLogIndex(deps, createLogIndex({ length, head }, findSubjects), 1)).rejects.toThrow(
    "were not made for it",
  );
});

test("a change whose hash would be zero in the log index is found", () => {
  const logIndex = createLogIndex({ length: 0, head: "" }, findSubjects);
  // The FNV-1a hash of this id is 1. Without the lowest bit, which marks minor changes, it would be 0, which stands for no subject.
  const change_id = "chg_w1iv1y";
  const event = { event_type: "change_drifted", change_id, tenant: "t1", detail: "{}" } as const;
  const entry = { ...event, origin: "o", id: 1, timestamp: "", previous_hash: "", current_hash: "f".repeat(64) };
  expect(logIndex.append(entry)).toBe(true);
  expect([...logIndex.find(nameQuery(change_id), 1, 0)]).toEqual([1]);
});

test("the entry of a plan is found by each of its targets, and by no other", () => {
  const logIndex = createLogIndex({ length: 0, head: "" }, findSubjects);
  const sets = ["a", "b", "c"].map((target) => ({ tenant_id: "t1", target }));
  const detail = JSON.stringify({ tier: "minor", target: "release.7", sets });
  const event = { event_type: "change_proposed", change_id: "chg_1", tenant: "*", detail } as const;
  const entry = { ...event, origin: "o", id: 1, timestamp: "", previous_hash: "", current_hash: "f".repeat(64) };
  expect(logIndex.append(entry)).toBe(true);
  const find = (tenant_id: string, target: string) => [
    ...logIndex.find(targetQuery("proposed", { tenant_id, target }), 1, 0),
  ];
  for (const { target } of sets) expect(find("t1", target.toUpperCase())).toEqual([1]);
  expect([find("t2", "a"), find("t1", "d"), find("*", "release.7")]).toEqual([[], [], []]);
  expect([...logIndex.find(nameQuery("chg_1"), 1, 0)]).toEqual([1]);
});
