/** How much of the log a process reads, and that it takes nothing for durable that is not. */
import { expect, test } from "vitest";
import { createLogIndex } from "../../../lib/audit/log_index.ts";
import { extendLogIndex } from "../../../lib/audit/read_log.ts";
import { openProduct } from "../../../lib/changes/open.ts";
import { nameQuery, targetQuery, findSubjects } from "../../../lib/changes/subjects.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { DAY } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { type TestDeps, type TestOptions, restarted } from "../../support/deps.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { failingStore } from "../../support/failing_store.ts";

/** Another process, that checked only the newest entry when it was opened. */
async function briefly(deps: TestDeps, over: TestOptions = {}): Promise<TestDeps> {
  const other = await restarted(deps, over);
  await openProduct(other, { tail: 1 });
  return other;
}

test("a process reads back as far as a change's first entry, and no further", async () => {
  const api = await core();
  const before = await api.bring("applied");
  const id = await api.bring("approved");
  for (let other = 0; other < 300; other++) await api.propose({ target: `t${other}` });
  const other = makeCore(await briefly(api.deps));
  const { length } = await api.audit("?limit=1000");
  expect(other.deps.integrity.logIndex!.after).toBe(length - 1);
  expect((await other.must("apply", id)).status).toBe("applied");
  const { audit } = (await other.deps.store.get("changes", id))!.value;
  expect(other.deps.integrity.logIndex!.after).toBe(audit[0]! - 1);
  expect((await other.must("rollback", before)).status).toBe("rolled_back");
});

test("it reads back until the day is over to count minor changes", async () => {
  const intent = { policy: { minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 } } };
  const api = await core({ intent });
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  await api.propose(minor);
  api.deps.clock.advance(DAY);
  await api.propose(minor);
  await api.propose(minor);
  for (let other = 0; other < 20; other++) await api.propose({ target: `t${other}` });
  const other = makeCore(await briefly(api.deps, { intent }));
  expect((await other.propose(minor)).tier).toBe("standard");
});

test("what could not be written is no part of the log, and no breach of it", async () => {
  const store = failingStore(memoryStore());
  const api = await core({ store });
  const id = await api.bring("approved");
  store.fail();
  expect((await api.act("apply", id)).status).toBe(503);
  expect((await api.post("kpi", { csat: 4 })).status).toBe(503);
  store.mend();
  expect((await api.act("apply", id)).status).toBe(200);
  expect((await api.act("rollback", id)).status).toBe(200);
  expect(api.deps.integrity.breach).toBeUndefined();
});

test("several processes on one store read what the others wrote", async () => {
  const first = await core();
  const second = makeCore(await restarted(first.deps));
  const [one, two] = [await first.bring("approved"), await second.bring("approved", { target: "ui.b" })];
  for (let round = 0; round < 300; round++) await first.post("kpi", { csat: round });
  expect((await second.act("apply", one)).status).toBe(200);
  expect((await first.act("apply", two)).status).toBe(200);
});

test("entries are read back each against the one after it", async () => {
  const api = await core();
  for (let made = 0; made < 5; made++) await api.propose({ target: `t${made}` });
  const { deps } = api;
  const { length, head } = (await deps.store.get("meta", "chain"))!.value;
  const [one, two] = await deps.store.getMany("audit", ["0000000000000002", "0000000000000003"]);
  const another = { ...one!.value, id: 3, previous_hash: two!.value.previous_hash };
  await deps.store.transact((tx) => tx.put("audit", two!.id, { ...another, current_hash: hashEntry(another) }));
  await expect(extendLogIndex(deps, createLogIndex({ length, head }, findSubjects), 1)).rejects.toThrow(
    "were not made for it",
  );
});

test("a change whose place in the outline would be that of nothing is found all the same", () => {
  const outline = createLogIndex({ length: 0, head: "" }, findSubjects);
  // Its FNV-1a hash is 1, of which the lowest bit is left out.
  const change_id = "chg_w1iv1y";
  const event = { event_type: "change_drifted", change_id, tenant: "t1", detail: "{}" } as const;
  const entry = { ...event, origin: "o", id: 1, timestamp: "", previous_hash: "", current_hash: "f".repeat(64) };
  expect(outline.append(entry)).toBe(true);
  expect([...outline.find(nameQuery(change_id), 1, 0)]).toEqual([1]);
});

test("an entry of a plan is found by each of its targets, and by no other", () => {
  const outline = createLogIndex({ length: 0, head: "" }, findSubjects);
  const sets = ["a", "b", "c"].map((target) => ({ tenant_id: "t1", target }));
  const detail = JSON.stringify({ tier: "minor", target: "release.7", sets });
  const event = { event_type: "change_proposed", change_id: "chg_1", tenant: "*", detail } as const;
  const entry = { ...event, origin: "o", id: 1, timestamp: "", previous_hash: "", current_hash: "f".repeat(64) };
  expect(outline.append(entry)).toBe(true);
  const find = (tenant_id: string, target: string) => [
    ...outline.find(targetQuery("proposed", { tenant_id, target }), 1, 0),
  ];
  for (const { target } of sets) expect(find("t1", target.toUpperCase())).toEqual([1]);
  expect([find("t2", "a"), find("t1", "d"), find("*", "release.7")]).toEqual([[], [], []]);
  expect([...outline.find(nameQuery("chg_1"), 1, 0)]).toEqual([1]);
});
