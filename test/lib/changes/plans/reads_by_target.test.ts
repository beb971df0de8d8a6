/** Reads and searches for one target find each entry of a plan. */
import { expect, test } from "vitest";
import { service } from "../../../support/service.ts";

const SETS = [
  { tenant_id: "t1", target: "ui.banner", value: "hello" },
  { tenant_id: "t2", target: "search.limit", value: 40 },
];

test("flags and search return each entry of a plan until the plan is rolled back", async () => {
  const api = await service();
  const proposal = { tenant_id: "t1", kind: "config", target: "relaunch", summary: "Relaunch", sets: SETS };
  const { body, status } = await api.json("/api/product/propose", proposal);
  expect([status, body.error]).toEqual([201, undefined]);
  await api.must("approve", body.change_id);
  const readFlag = async ({ tenant_id, target }: (typeof SETS)[number]) =>
    (await api.json(`/ofrep/v1/evaluate/flags/${target}`, { context: { targetingKey: tenant_id } })).body;
  const find = async (query: string) =>
    (await api.get(`/api/find?q=${encodeURIComponent(query)}`)).body.rows.map(
      (row: { change_id: string }) => row.change_id,
    );
  expect(await Promise.all(SETS.map(readFlag))).toMatchObject(SETS.map(() => ({ errorCode: "FLAG_NOT_FOUND" })));
  await api.must("apply", body.change_id);
  for (const entry of SETS) {
    const metadata = { change_id: body.change_id, tenant_id: entry.tenant_id };
    expect(await readFlag(entry)).toMatchObject({ value: entry.value, metadata });
    expect(await find(`target:${entry.target}`)).toEqual([body.change_id]);
    expect(await find(`tenant:${entry.tenant_id}`)).toEqual([body.change_id]);
  }
  // The tenant of the plan itself is t1, but only t2 gets this value.
  expect((await readFlag({ ...SETS[1]!, tenant_id: "t1" })).errorCode).toBe("FLAG_NOT_FOUND");
  await api.must("rollback", body.change_id);
  expect(await Promise.all(SETS.map(readFlag))).toMatchObject(SETS.map(() => ({ errorCode: "FLAG_NOT_FOUND" })));
});
