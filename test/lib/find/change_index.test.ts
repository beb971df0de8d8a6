/** Given rows in memory, when the log grows, then the next query sees what is so now. */
import { expect, test } from "vitest";
import { parseQuery } from "../../../lib/find/parse.ts";
import { runQuery } from "../../../lib/find/run.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { service, type TestService } from "../../support/service.ts";
import { openRolloutOnTarget } from "../../support/target_rollout.ts";

const find = async ({ deps }: Pick<TestService, "deps">, text: string) => {
  const query = parseQuery(text, { now: deps.clock.now(), zone: "UTC" });
  return runQuery(deps, query, { limit: 100, zone: "UTC", caller: null });
};

test("every step of a change is seen by the next query, also those that another process made", async () => {
  const store = memoryStore();
  const [ours, theirs] = [await service({ store }), await service({ store })];
  expect((await find(ours, "")).total).toBe(0);
  const id = await theirs.bring("pending_consent", { summary: "Show the winter banner" });
  expect((await find(ours, "winter is:pending")).total).toBe(1);
  await theirs.act("approve", id);
  expect((await find(ours, "is:approved winter approver:ana")).rows).toMatchObject([
    { change_id: id, approvers: ["ana"] },
  ]);
  await ours.act("apply", id);
  expect((await find(theirs, "is:applied")).total).toBe(1);
  await ours.bring("denied", { target: "ui.other" });
  expect((await find(theirs, "")).total).toBe(2);
});

test("find lists the changes of a target system, and running rollouts by their step", async () => {
  const { api, change_id, adapter, completeStep } = await openRolloutOnTarget();
  const waiting = await api.bring("pending_consent", { target: "ui.b", value: "1" });
  const ids = async (text: string) => (await find(api, text)).rows.map((row) => row.change_id);
  expect(await ids(`system:${adapter.name}`)).toEqual([waiting, change_id]);
  expect([await ids("stage:0"), await ids("stage:>0"), await ids("stage:*")]).toEqual([[change_id], [], [change_id]]);
  await completeStep();
  expect([await ids("stage:0"), await ids("stage:1..2")]).toEqual([[], [change_id]]);
  await completeStep(1);
  expect(await ids("stage:*")).toEqual([]);
});
