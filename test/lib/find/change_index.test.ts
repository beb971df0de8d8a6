/** A query includes all entries of the log, also those appended since the previous query. */
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

test("the next query includes every step of a change, also steps by another process", async () => {
  const store = memoryStore();
  const [first, second] = [await service({ store }), await service({ store })];
  expect((await find(first, "")).total).toBe(0);
  const id = await second.bring("pending_consent", { summary: "Show the winter banner" });
  expect((await find(first, "winter is:pending")).total).toBe(1);
  await second.act("approve", id);
  expect((await find(first, "is:approved winter approver:ana")).rows).toMatchObject([
    { change_id: id, approvers: ["ana"] },
  ]);
  await first.act("apply", id);
  expect((await find(second, "is:applied")).total).toBe(1);
  await first.bring("denied", { target: "ui.other" });
  expect((await find(second, "")).total).toBe(2);
});

test("find lists the changes of a target system, and running rollouts by their step", async () => {
  const { api, change_id, adapter, completeStep } = await openRolloutOnTarget();
  const waiting = await api.bring("pending_consent", { target: "ui.b", value: "1" });
  const findIds = async (text: string) => (await find(api, text)).rows.map((row) => row.change_id);
  expect(await findIds(`system:${adapter.name}`)).toEqual([waiting, change_id]);
  expect([await findIds("stage:0"), await findIds("stage:>0"), await findIds("stage:*")]).toEqual([
    [change_id],
    [],
    [change_id],
  ]);
  await completeStep();
  expect([await findIds("stage:0"), await findIds("stage:1..2")]).toEqual([[], [change_id]]);
  // The second step is the last one, so the rollout ends with it.
  await completeStep(1);
  expect(await findIds("stage:*")).toEqual([]);
});
