/** All projections together: leftover records, a busy projection next to others, a replaced log, and the check of counts. */
import { expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { projectAll, PROJECTIONS } from "../../../lib/projections/projector.ts";
import { type Cursor, type Projection, startCursor } from "../../../lib/projections/projection.ts";
import { activity } from "../../../lib/projections/activity.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { counts } from "../../../lib/projections/counts.ts";
import { verifyProjections } from "../../../lib/projections/verify.ts";
import type { Store } from "../../../lib/store/store.ts";
import { recordingStore } from "../../support/recording_store.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { projectionDeps, type TestLog, createTestLog } from "./test_log.ts";
import { runRandomHistory } from "./random_log.ts";

test("leftover records in a projection's collections are removed before it begins", async () => {
  const recording = recordingStore(memoryStore());
  const log = await createTestLog(recording.store);
  await runRandomHistory(log, 8, 100);
  const { store } = log;
  const collections = [
    "waiting",
    "growth_rows",
    "tally_days",
    "tally_drafts",
    "outcomes",
    "kpi_days",
    "record_memories",
  ] as const;
  for (const collection of collections)
    for (let start = 0; start < 160; start += 40)
      await store.transact((tx) => {
        for (let id = start; id < start + 40; id++) tx.put(collection, `2024-01-01 ${id}`, { from: "before" } as never);
      });
  recording.take();

  await projectAll(log);

  // A transaction of a projection has at most 49 records and the cursor.
  expect(Math.max(...recording.take().map((written) => written.length))).toBeLessThanOrEqual(50);
  for (const collection of collections)
    expect(await store.list(collection, { prefix: "2024-01-01", limit: 1 }), collection).toEqual([]);
  expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
});

/** Projects a log that grows while one projection is busy; returns the entry that `activity` has reached by then. */
async function entryReachedMeanwhile(
  log: TestLog,
  { name }: Projection,
  isBusy: (cursor: Cursor, length: number) => boolean,
): Promise<number> {
  const { store: base } = log;
  const { length } = (await readHead(base))!;
  let entry = 0;
  const store: Store = {
    ...base,
    async transact(decide) {
      const result = await base.transact(decide);
      const [busy, other] = await base.getMany("cursors", [name, activity.name]);
      if (!isBusy(busy!.value, length)) return result;
      entry = Math.max(entry, other!.value.entry);
      // The growth is limited, so that the projections reach the end of the log.
      if ((await readHead(base))!.length < length + 100) await log.propose();
      return result;
    },
  };
  await projectAll(projectionDeps(store, log.clock));
  return entry;
}

test.each([
  { work: "many records to delete", proposals: 10, days: 1000 },
  { work: "many entries to project", proposals: 2000, days: 0 },
])("while one projection has $work, the others project new entries", async ({ proposals, days }) => {
  const log = await createTestLog();
  for (let count = 0; count < proposals; count++) await log.propose();
  await projectAll(log);
  // The counts begin again: first they delete all rows of days, then they project all entries.
  await log.store.transact((tx) => tx.put("cursors", counts.name, startCursor(counts)));
  for (let day = 0; day < days; day += 40)
    await log.store.transact((tx) => {
      for (let id = day; id < day + 40; id++) tx.put("tally_days", `2024-01-01 ${id}`, { from: "before" } as never);
    });
  const { length } = (await readHead(log.store))!;
  const isBusy = ({ clearing, entry }: Cursor, end: number): boolean => clearing !== undefined || entry < end;
  expect(await entryReachedMeanwhile(log, counts, isBusy)).toBeGreaterThan(length);
});

test("while one projection ends many outcomes, the others project new entries", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  for (let count = 0; count < 1500; count++)
    await log.applied({ target: `ui.t${count}`, kpi: "csat", expected_delta_k: 1 });
  await projectAll(log);
  // Outcomes end seven days after the apply.
  log.hours(8 * 24);
  await log.feed({ csat: 5 });
  const { length } = (await readHead(log.store))!;
  expect(await entryReachedMeanwhile(log, outcomes, ({ entry }, end) => entry < end)).toBeGreaterThan(length);
});

test("a log shorter than the projected part is projected again from its start", async () => {
  const log = await createTestLog();
  await runRandomHistory(log, 9, 200);
  await projectAll(log);
  const other = await createTestLog();
  await runRandomHistory(other, 10, 50);
  // Replaces the log by another log, as a restore does.
  const entries = await other.store.list("audit", { limit: 1000 });
  const changes = await other.store.list("changes", { limit: 1000 });
  for (const { id } of await log.store.list("audit", { limit: 1000 }))
    await log.store.transact((tx) => tx.delete("audit", id));
  for (const { id, value } of entries) await log.store.transact((tx) => tx.put("audit", id, value));
  for (const { id, value } of changes) await log.store.transact((tx) => tx.put("changes", id, value));
  const head = (await other.store.get("meta", "chain"))!.value;
  await log.store.transact((tx) => tx.put("meta", "chain", head));
  await projectAll(log);
  for (const { name } of PROJECTIONS) expect((await log.store.get("cursors", name))!.value.entry).toBe(head.length);
  expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
});

test("an edited or additional count is reported", async () => {
  const log = await createTestLog();
  await log.rollBack(await log.applied());
  await projectAll(log);
  const { store } = log;
  // The test log's clock shows 2026-01-02. Its apply and its rollback by a person are one of each count.
  await store.transact((tx) => {
    tx.put("tally_days", "2026-01-02", { attempts: 2, attempts_failed: 1 });
    tx.put("tally_days", "2026-01-09", { attempts: 1 });
  });
  const { tallies_match, mismatches } = await verifyProjections(log);
  expect(tallies_match).toBe(false);
  expect(mismatches).toContain("tally_days/2026-01-02 attempts: kept 2, counted 1");
  expect(mismatches).toContain("tally_days/2026-01-02 rollbacks_person: kept nothing, counted 1");
  expect(mismatches).toContain('tally_days/2026-01-09: kept {"attempts":1}, counted nothing');
});
