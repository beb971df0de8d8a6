/** The growth log: its pages over rows of projections and notices, its limit, its order, and the cycle of each row. */
import { expect, test } from "vitest";
import { projectAll } from "../../../lib/projections/projector.ts";
import { addNotice, readActivityPage } from "../../../lib/projections/activity_log.ts";
import { MAX_ROWS } from "../../../lib/projections/activity.ts";
import { writeInBatches } from "../../support/write_in_batches.ts";
import { openOperations } from "../operations/operations_service.ts";
import { projectionDeps, createTestLog } from "./test_log.ts";
import { runRandomHistory } from "./random_log.ts";

const notice = (number: number, kind = "a") => ({
  at: "2026-01-02T00:00:00.000Z",
  kind,
  title: `row ${number}`,
  detail: "",
});

test.each([
  ["all", undefined],
  ["one kind", "outcome"],
  ["a kind that only entries make", "rolled_back"],
  ["a kind that no entry makes", "even"],
])("pages over %s return each row of all projections once, newest first", async (_, kind) => {
  const log = await createTestLog();
  let noticeCount = 0;
  // 200 random steps with the seed 11. Each fifth step adds a notice; half of the log is projected before the other is written.
  await runRandomHistory(log, 11, 200, async () => {
    const number = ++noticeCount;
    if (number % 5 === 0)
      await log.store.transact((tx) => addNotice(log, tx, notice(number, number % 2 === 0 ? "even" : "odd")));
    if (number === 100) await projectAll(log);
  });
  const allRows = (await readActivityPage(log, { limit: 10_000, kind })).entries;
  expect(allRows.length).toBeGreaterThan(10);
  const kindCount = new Set(allRows.map((row) => row.kind)).size;
  if (kind === undefined) expect(kindCount).toBeGreaterThan(5);
  else expect(kindCount).toBe(1);
  for (const limit of [1, 3, 7]) {
    const seqs: number[] = [];
    for (let before: number | undefined; ;) {
      const page = await readActivityPage(log, { limit, before, kind });
      seqs.push(...page.entries.map(({ seq }) => seq));
      if (page.next === null) break;
      before = page.next;
    }
    expect(seqs).toEqual(allRows.map(({ seq }) => seq));
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => b - a));
  }
});

test("a kind is not confused with one that has the same prefix or sorts before it", async () => {
  const deps = projectionDeps((await createTestLog()).store);
  for (const kind of ["drift", "task", "task_failed"])
    await deps.store.transact((tx) => addNotice(deps, tx, notice(1, kind)));
  expect((await readActivityPage(deps, { limit: 5, kind: "task" })).entries.map(({ kind }) => kind)).toEqual(["task"]);
});

test("only the newest 10,000 rows of a source are stored", async () => {
  const deps = projectionDeps((await createTestLog()).store);
  await writeInBatches(deps.store, MAX_ROWS + 50, (tx, index) => addNotice(deps, tx, notice(index)));
  const rows = await deps.store.list("notices", { limit: 20_000 });
  expect(rows).toHaveLength(MAX_ROWS);
  expect(await deps.store.list("notices_kinds", { limit: 20_000 })).toHaveLength(MAX_ROWS);
  expect(rows[0]!.value.title).toBe("row 50");
  const { entries, next } = await readActivityPage(deps, { limit: 1, before: rows[1]!.value.seq });
  expect(entries).toEqual([rows[0]!.value]);
  expect(next).toBeNull();
});

test("a row names its change and the last cycle before it, also after later cycles", async () => {
  const service = await openOperations();
  await service.cycle();
  const id = await service.bring("rolled_back");
  const rows = async () => (await service.get("/api/log?kind=rolled_back")).body.entries;
  const [row] = await rows();
  expect(row).toMatchObject({ tick: 1, ref: id, title: "“Show the banner” (ui.banner for tenant t1): rolled back" });
  await service.cycle();
  await service.cycle();
  expect(await rows()).toEqual([row]);
});

test("a notice is listed after earlier entries and before later ones", async () => {
  const log = await createTestLog();
  await log.rollBack(await log.applied({ kpi: "csat" }));
  await log.store.transact((tx) => addNotice(log, tx, notice(1)));
  await log.rollBack(await log.applied({ kpi: "csat" }));
  const kinds = (await readActivityPage(log, { limit: 10 })).entries.map(({ kind }) => kind);
  expect(kinds.reverse()).toEqual(["rolled_back", "outcome", "a", "rolled_back", "outcome"]);
});
