/** The list of managed values with an applied plan, and after a partial rollback. */
import { expect, test } from "vitest";
import { readValuePage } from "../../../../lib/operations/values.ts";
import { bringPlan, memorySystems, planBench, planEntry } from "../../../support/plan_bench.ts";

test("each entry of a plan is listed as a value until it is rolled back", async () => {
  const bench = await planBench(memorySystems(["a", "b", "c"]));
  const { api, systems } = bench;
  const listValues = async () =>
    (await readValuePage(api.deps, { limit: 100 })).values.map(
      (row) => `${row["target"]} ${row.state === "governed" ? JSON.stringify(row["value"]) : row.state}`,
    );
  const first = await bringPlan(api, "applied", [planEntry("a", 1, 1), planEntry("b", 1, 1), planEntry("c", 1, 1)]);
  expect(await listValues()).toEqual(["a/1 1", "b/1 1", "c/1 1"]);
  const entries = Array.from({ length: 20 }, (_, index) => planEntry("abc"[index % 3]!, 1 + Math.floor(index / 3), 2));
  const second = await bringPlan(api, "applied", entries);
  expect(await listValues()).toEqual(entries.map(({ target }) => `${target} 2`).sort());
  // System b has 7 of the 20 entries: their joint write is rejected, and then the write of each.
  systems.get("b")!.faults.push(...Array.from({ length: 8 }, () => "rejected" as const));
  expect((await api.act("rollback", second)).status).toBe(502);
  const remaining = entries.filter(({ target }) => target.startsWith("b/")).map(({ target }) => `${target} 2`);
  expect(await listValues()).toEqual(["a/1 1", ...remaining, "c/1 1"].sort());
  await api.must("rollback", second);
  expect(await listValues()).toEqual(["a/1 1", "b/1 1", "c/1 1"]);
  await api.must("rollback", first);
  expect(await listValues()).toEqual([]);
});
