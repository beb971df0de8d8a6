/** Slices, conflicts and rebuilds, the same for every projection. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { entryKey, readHead } from "../../../lib/audit/chain.ts";
import { findProblem } from "../../../lib/projections/catch_up.ts";
import { projectAll, PROJECTIONS, rebuild } from "../../../lib/projections/projector.ts";
import type { Entry } from "../../../lib/projections/entries.ts";
import { createLogReader } from "../../../lib/projections/log_reader.ts";
import { activity } from "../../../lib/projections/activity.ts";
import { readActivityPage } from "../../../lib/projections/activity_log.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { MAX_WAIT_MS, readProjection } from "../../../lib/projections/snapshot.ts";
import { projectSlice, readLength } from "../../../lib/projections/project.ts";
import { type Projection, type ProjectionDeps, startCursor } from "../../../lib/projections/projection.ts";
import { verifyProjections } from "../../../lib/projections/verify.ts";
import { counts } from "../../../lib/projections/counts.ts";
import { waiting } from "../../../lib/projections/waiting.ts";
import { yieldToEventLoop } from "../../../lib/kit/event_loop.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { type Store, StoreUnavailable } from "../../../lib/store/store.ts";
import { recordingStore } from "../../support/recording_store.ts";
import { DAY, pass, testClock } from "../../support/clock.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { projectionDeps, storedRows, createTestLog, seededFractions } from "./test_log.ts";
import { runRandomHistory } from "./random_log.ts";

/** The period after an apply at whose end an outcome is final. */
const HORIZON = 7 * DAY;

/** Returns the end for `projectSlice`: the end of the log, or an earlier length. `now` is empty, so only entries advance time. */
async function projectionEnd(deps: ProjectionDeps, earlierLength?: number) {
  const length = earlierLength ?? (await readLength(deps));
  return { length, now: "", read: createLogReader(deps, length) };
}

/** Projects up to an entry. */
async function projectTo(deps: ProjectionDeps, projection: Projection, length: number): Promise<void> {
  const end = await projectionEnd(deps, length);
  while ((await projectSlice(deps, projection, deps.store, end)) === "more");
}

describe("a rebuild stores the same bytes", () => {
  test.each([1, 2, 3])("after random history %i, projected in several parts", async (seed) => {
    const log = await createTestLog();
    const random = seededFractions(seed + 100);
    await runRandomHistory(log, seed, 400, async () => {
      if (random() < 0.3) await projectAll(log);
    });
    log.hours(24 * 31);
    await projectAll(log);
    const before = await storedRows(log.store);
    expect(Object.keys(before).length).toBeGreaterThan(100);
    await rebuild(log);
    expect(await storedRows(log.store)).toEqual(before);
    expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
  });
});

/** Creates a projected log with a number of open outcomes of one KPI. */
async function createLogWithOpenOutcomes(outcomeCount: number, store: Store = memoryStore()) {
  const log = await createTestLog(store);
  await log.feed({ csat: 4 });
  for (let count = 0; count < outcomeCount; count++)
    await log.applied({ target: `ui.t${count}`, kpi: "csat", expected_delta_k: 0.1 });
  await projectAll(log);
  return log;
}

test("an outcome that ended at its horizon stays ended for a process with an earlier clock", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 4.5 });
  const ahead = projectionDeps(log.store, testClock(log.clock.iso()));
  await pass(ahead, HORIZON + 5000);
  await projectAll(ahead);
  log.clock.advance(HORIZON - 2000);
  await log.feed({ csat: 6 });
  await projectAll(log);
  const before = await storedRows(log.store);
  expect((await log.store.get("outcomes", id))!.value.final).toMatchObject({ ended_by: "horizon", current: 4.5 });
  await rebuild(log);
  expect(await storedRows(log.store)).toEqual(before);
});

test("an outcome that is ended late uses the values fed up to its horizon", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  log.clock.advance(HORIZON);
  await log.feed({ csat: 5 });
  log.clock.advance(1);
  await log.feed({ csat: 3 });
  await projectAll(log);
  const { final, applied_at } = (await log.store.get("outcomes", id))!.value;
  expect(final).toMatchObject({ verdict: "met", current: 5, ended_by: "horizon" });
  expect(Date.parse(final!.as_of) - Date.parse(applied_at)).toBe(HORIZON);
});

test("projections share the entries, changes and cycles that one of them has read", async () => {
  const store = memoryStore();
  const log = await createTestLog(store);
  for (let count = 0; count < 100; count++)
    await log.appendStep(await log.applied({ kpi: "csat" }), "change_rolled_back", {});
  const { length } = (await readHead(store))!;
  const reads = new Map<string, number>();
  const count = (collection: string) => reads.set(collection, (reads.get(collection) ?? 0) + 1);
  const counted: Store = {
    ...store,
    list: (collection, options) => (count(collection), store.list(collection, options)),
    getMany: (collection, ids) => (count(collection), store.getMany(collection, ids)),
  };
  await projectAll({ ...log, store: counted });
  // A run of projections reads 64 entries at a time.
  const runs = Math.ceil(length / 64);
  for (const collection of ["audit", "changes"]) expect(reads.get(collection), collection).toBe(runs);
  // Finding the cycle of an entry takes two reads. The limit is two such searches for each projection and run.
  expect(reads.get("ticks"), "ticks").toBeLessThan(4 * PROJECTIONS.length * runs);
});

test("a change is read once for concurrent readers, and again after a failed read", async () => {
  const log = await createTestLog();
  await log.applied();
  const { length } = (await readHead(log.store))!;
  let isBroken = true;
  let reads = 0;
  const getMany: Store["getMany"] = async (collection, ids) => {
    reads++;
    if (isBroken && collection === "changes") throw new Error("the store is away");
    return log.store.getMany(collection, ids);
  };
  const read = createLogReader({ ...log, store: { ...log.store, getMany } }, length);
  const { entries, facts } = await read(0, length);
  const [{ change_id }] = entries as [Entry];
  await expect(facts.readChange(change_id)).rejects.toThrow("the store is away");
  isBroken = false;
  reads = 0;
  const changes = await Promise.all([facts.readChange(change_id), facts.readChange(change_id)]);
  for (const change of changes) expect(change).toMatchObject({ change_id, status: "applied" });
  expect(reads).toBe(1);
});

test("projections advance evenly while the log grows as fast as one of them projects it", async () => {
  const base = memoryStore();
  const log = await createTestLog(base);
  let proposalsLeft = 3000;
  let maxDistance = 0;
  const grow = async (): Promise<void> => {
    for (let count = 0; count < 30 && proposalsLeft-- > 0; count++) await log.propose();
  };
  const store: Store = {
    ...base,
    async transact(decide) {
      // Each time `waiting` has stored a slice, the log grows by 30 entries.
      let hasMovedWaiting = false;
      const result = await base.transact((tx) =>
        decide({
          ...tx,
          put(collection, id, value, expected) {
            hasMovedWaiting ||= collection === "cursors" && id === waiting.name;
            tx.put(collection, id, value, expected);
          },
        }),
      );
      if (hasMovedWaiting) await grow();
      const cursors = (await base.list("cursors", { limit: 10 })).map(({ value }) => value.entry);
      const distance = Math.max(...cursors) - Math.min(...cursors);
      if (cursors.length === PROJECTIONS.length) maxDistance = Math.max(maxDistance, distance);
      return result;
    },
  };
  await grow();
  const deps = projectionDeps(store, log.clock);
  while (proposalsLeft > 0) await projectAll(deps);
  expect(maxDistance).toBeGreaterThan(0);
  // A projection that got no slice would fall behind by up to 3000 entries.
  expect(maxDistance).toBeLessThan(1200);
});

test("an outdated length of the log is not mistaken for a shorter log", async () => {
  const log = await createTestLog();
  for (let count = 0; count < 20; count++) await log.propose();
  const { length } = (await readHead(log.store))!;
  for (let count = 0; count < 20; count++) await log.propose();
  await projectAll(log);
  const before = await storedRows(log.store);
  expect(await projectSlice(log, waiting, log.store, await projectionEnd(log, length))).toBe("done");
  expect(await storedRows(log.store)).toEqual(before);
});

test("each row has the cycle of its own entry, also within one page", async () => {
  const log = await createTestLog();
  const ids: string[] = [];
  const cycles: number[] = [];
  for (let tick = 1; tick <= 5; tick++) {
    for (let count = 0; count < 2; count++) {
      const id = await log.applied({ kpi: "csat" });
      await log.appendStep(id, "change_rolled_back", {});
      ids.push(id);
      cycles.push(tick - 1);
    }
    const { length } = (await readHead(log.store))!;
    // The key is the length of the log when the cycle runs, so it comes after the entries so far.
    await log.store.transact((tx) => tx.put("ticks", entryKey(length), { tick }));
  }
  await projectAll(log);
  const rows = (await log.store.list("growth_rows", { limit: 100 })).map(({ value }) => value);
  const ticks = ids.map((id) => rows.find(({ kind, ref }) => kind === "rolled_back" && ref === id)?.tick);
  expect(ticks).toEqual(cycles);
});

test("rows of an earlier version of a projection are rebuilt", async () => {
  const log = await createLogWithOpenOutcomes(2);
  const { value } = (await log.store.get("cursors", "outcomes"))!;
  const before = await storedRows(log.store);
  const { version, ...earlier } = value;
  expect(version).toBeGreaterThan(1);
  // The cursor of an earlier version, with a row that a rebuild must remove.
  await log.store.transact((tx) => {
    tx.put("cursors", "outcomes", earlier);
    tx.put("closed", "0000000000000007", "made otherwise");
  });
  await projectAll(log);
  expect(await storedRows(log.store)).toEqual(before);
});

test("later feeds do not change a verdict", async () => {
  const log = await createTestLog();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 5 });
  log.clock.advance(HORIZON + 1);
  const verdicts: number[] = [];
  for (const csat of [4, 5.5, 4.2]) {
    await log.feed({ csat });
    await projectAll(log);
    verdicts.push((await readProjection(log, outcomes)).state.verdicts);
  }
  expect(verdicts).toEqual([1, 1, 1]);
  const { entries } = await readActivityPage(log, { limit: 5, kind: "outcome" });
  expect(entries).toMatchObject([
    {
      title: `The outcome of ${id} is final: met`,
      detail:
        "It ended at its horizon. csat: expected to rise by 1, it rose by 1 (better), a KPI of the whole product.",
      ref: id,
    },
  ]);
  const { value } = (await log.store.get("outcomes", id))!;
  const memories = (await log.store.list("outcome_memories", { limit: 5 })).map(({ id: key }) => key);
  expect(memories).toEqual([value.memory]);
});

describe("a slice", () => {
  test("writes at most 50 records, for any number of outcomes that end", async () => {
    const counted = recordingStore(memoryStore());
    const log = await createLogWithOpenOutcomes(1200, counted.store);
    counted.take();
    await log.feed({ csat: 4.2 });
    await projectAll(log);
    expect((await readProjection(log, outcomes)).state.verdicts, "before any horizon").toBe(0);
    await pass(log, HORIZON + 1);
    // The first process stops after a few slices; another one continues.
    let slices = 0;
    await projectAll(log, () => ++slices <= 2 * PROJECTIONS.length);
    await projectAll(projectionDeps(counted.store, log.clock));
    expect((await readProjection(log, outcomes)).state).toMatchObject({ verdicts: 1200, timed_out: 1200 });
    const records = await log.store.list("outcomes", { limit: 2000 });
    await log.feed({ csat: 4.05 });
    await projectAll(log);
    expect(await log.store.list("outcomes", { limit: 2000 }), "no record is written again").toEqual(records);
    expect((await readProjection(log, outcomes)).state.total.verdict_met).toBe(1200);
    const writes = counted.take().map((written) => new Set(written).size);
    expect(writes.length).toBeGreaterThan(1200 / 50);
    expect(Math.max(...writes)).toBeLessThanOrEqual(50);
    expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test.each([3, 1, 2, 7])(
    "that is lost in a crash is projected again; about 1 of %i + 1 transactions fails",
    async (every) => {
      const log = await createTestLog();
      await runRandomHistory(log, 5, 300);
      const single = await createTestLog();
      await runRandomHistory(single, 5, 300);
      await projectAll(single);
      let transactions = 0;
      // Random, since with a fixed pattern the same projections would fail each time.
      const random = seededFractions(every);
      const crashing: Store = {
        ...log.store,
        transact: (decide) =>
          ++transactions > 1 && random() < 1 / (every + 1)
            ? Promise.reject(new Error("the process died"))
            : log.store.transact(decide),
      };
      for (let starts = 0; starts < 1000; starts++) {
        const restarted = projectionDeps(crashing, log.clock);
        await projectAll(restarted);
        if (PROJECTIONS.every((projection) => findProblem(restarted, projection) === null)) break;
      }
      expect(transactions).toBeGreaterThan(every);
      expect(await storedRows(log.store)).toEqual(await storedRows(single.store));
    },
  );

  test("that cannot hold all writes of an entry continues within that entry", async () => {
    const log = await createTestLog();
    // 60 rows from one entry are more than the 50 writes of a slice.
    const trip = { kpi: "csat", action: "alert", baseline: 4, value: 3, regression: 1 };
    const ids = Array.from({ length: 60 }, (_, index) => `chg_${index}`);
    await log.feed({ csat: 3 }, { tripped: ids.map((change_id) => ({ ...trip, change_id })) });
    await projectAll(log);
    const rows = await log.store.list("growth_rows", { limit: 200 });
    expect(rows.map(({ value }) => value.ref)).toEqual(ids);
    expect((await readProjection(log, activity)).state.rows.count).toBe(ids.length);
  });

  test("is not stored if another process stored a slice of a shorter log meanwhile", async () => {
    const log = await createTestLog();
    for (let count = 0; count < 10; count++) await log.propose();
    await projectAll(log);
    for (let count = 0; count < 20; count++) await log.propose();
    const { length } = (await readHead(log.store))!;
    for (let count = 0; count < 120; count++) await log.propose();
    const barrier = makeBarrier();
    const slow: Store = { ...log.store, transact: (decide) => barrier.opened.then(() => log.store.transact(decide)) };
    const slowDeps = projectionDeps(slow, log.clock);
    const slice = projectSlice(slowDeps, waiting, slow, await projectionEnd(slowDeps));
    // In these turns the slow process reads its slice; then it waits at the barrier.
    for (let turns = 0; turns < 20; turns++) await yieldToEventLoop();
    await projectSlice(log, waiting, log.store, await projectionEnd(log, length));
    barrier.open();
    expect(await slice).toBe("conflict");
    expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test("that began before a rebuild is not stored", async () => {
    const log = await createTestLog();
    for (let count = 0; count < 150; count++) await log.propose();
    await projectAll(log);
    for (let count = 0; count < 150; count++) await log.propose();
    const barrier = makeBarrier();
    const slow: Store = { ...log.store, transact: (decide) => barrier.opened.then(() => log.store.transact(decide)) };
    const slowDeps = projectionDeps(slow, log.clock);
    const slice = projectSlice(slowDeps, waiting, slow, await projectionEnd(slowDeps));
    // In these turns the slow process reads its slice; then a rebuild begins by resetting the cursor.
    for (let turns = 0; turns < 20; turns++) await yieldToEventLoop();
    await log.store.transact((tx) => tx.put("cursors", waiting.name, startCursor(waiting)));
    barrier.open();
    expect(await slice).toBe("conflict");
    expect((await log.store.get("cursors", waiting.name))!.value).toEqual(startCursor(waiting));
    await projectAll(log);
    expect(await verifyProjections(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test("of two concurrent processes gives the same rows as one process", async () => {
    const log = await createTestLog();
    await runRandomHistory(log, 6, 300);
    const first = projectionDeps(log.store, log.clock);
    const second = projectionDeps(log.store, log.clock);
    for (let rounds = 0; rounds < 100; rounds++) {
      await Promise.all([projectAll(first), projectAll(second)]);
      if ((await readProjection(log, outcomes)).behind === 0) break;
    }
    expect(PROJECTIONS.map((projection) => findProblem(first, projection) ?? findProblem(second, projection))).toEqual(
      PROJECTIONS.map(() => null),
    );
    const single = await createTestLog();
    await runRandomHistory(single, 6, 300);
    await projectAll(single);
    expect(await storedRows(log.store)).toEqual(await storedRows(single.store));
  });
});

test("only the projection that lost a race is left to the other process", async () => {
  const log = await createTestLog();
  // 1200 entries take several slices, so the first slice does not bring the lost projection to the head.
  for (let count = 0; count < 1200; count++) await log.propose();
  await projectAll(log);
  for (let count = 0; count < 1200; count++) await log.propose();
  const { length } = (await readHead(log.store))!;
  let hasLostRace = false;
  const store: Store = {
    ...log.store,
    async transact(decide) {
      if (!hasLostRace) {
        hasLostRace = true;
        await projectSlice(log, PROJECTIONS[0]!, log.store, await projectionEnd(log));
      }
      return log.store.transact(decide);
    },
  };
  expect(await projectAll(projectionDeps(store, log.clock))).toBe(false);
  const [lost, ...others] = await Promise.all(PROJECTIONS.map(({ name }) => log.store.get("cursors", name)));
  expect(lost!.value.entry).toBeLessThan(length);
  expect(others.map((cursor) => cursor!.value.entry)).toEqual(others.map(() => length));
});

test("a process that was delayed while another projected stores nothing", async () => {
  const log = await createTestLog();
  for (let count = 0; count < 60; count++) {
    await log.feed({ csat: 4 });
    log.hours(24);
  }
  const barrier = makeBarrier();
  const slow: Store = { ...log.store, transact: (decide) => barrier.opened.then(() => log.store.transact(decide)) };
  const delayed = projectAll(projectionDeps(slow, log.clock));
  await projectAll(log);
  const before = await storedRows(log.store);
  barrier.open();
  await delayed;
  expect(await storedRows(log.store)).toEqual(before);
});

describe("a read", () => {
  test.each([1, 2])("contains every entry of the log: random history %i", async (seed) => {
    const log = await createTestLog();
    const random = seededFractions(seed);
    await runRandomHistory(log, seed, 200, async () => {
      if (random() < 0.1) await projectAll(log);
      if (random() > 0.1) return;
      const length = await readLength(log);
      const readAll = async () => {
        const snapshots = await Promise.all(PROJECTIONS.map((projection) => readProjection(log, projection)));
        for (const { as_of, behind } of snapshots) expect([as_of, behind]).toEqual([length, 0]);
        return storedRows(log.store);
      };
      const before = await readAll();
      // After the cursors are reset, the reads have to project the complete log again.
      if (length > 0)
        await log.store.transact((tx) =>
          PROJECTIONS.forEach((projection) => tx.put("cursors", projection.name, startCursor(projection))),
        );
      const after = await readAll();
      expect(before).toEqual(after);
    });
  });

  test("that is repeated during many writes reads each entry once", async () => {
    const base = memoryStore();
    let entriesRead = 0;
    const list: Store["list"] = async (collection, options) => {
      const page = await base.list(collection, options);
      if (collection === "audit") entriesRead += page.length;
      return page;
    };
    const log = await createTestLog({ ...base, list });
    for (let count = 1; count <= 5; count++) {
      await log.propose();
      const reads = await Promise.all([readProjection(log, waiting), readProjection(log, waiting)]);
      for (const { as_of, behind, state } of reads)
        expect([entriesRead, as_of, behind, state.counts.pending_consent]).toEqual([count, count, 0, count]);
    }
  });

  test("continues from where an unfinished rebuild has stopped", async () => {
    const log = await createTestLog();
    for (let count = 0; count < 100; count++) await log.propose();
    await projectAll(log);
    await log.store.transact((tx) => tx.put("cursors", waiting.name, startCursor(waiting)));
    await projectTo(log, waiting, 10);
    const { state, list } = await readProjection(log, waiting);
    expect([state.counts.pending_consent, (await list("waiting", { limit: 200 })).length]).toEqual([100, 100]);
  });

  test("continues after another process was faster, and counts nothing twice", async () => {
    const log = await createTestLog();
    await log.feed({ csat: 4 });
    await projectAll(log);
    for (let count = 1; count < 20; count++) await log.feed({ csat: 4 });
    let hasLostRace = false;
    const store: Store = {
      ...log.store,
      async transact(decide) {
        if (!hasLostRace) await projectTo(log, counts, 10);
        hasLostRace = true;
        return log.store.transact(decide);
      },
    };
    const read = await readProjection(projectionDeps(store, log.clock), counts);
    expect((await read.list("tally_days", { limit: 10 })).map(({ value }) => value)).toEqual([{ kpi_feeds: 20 }]);
    expect([read.state, read.as_of, read.behind]).toEqual([{ total: { kpi_feeds: 20 } }, 20, 0]);
  });

  test.each([
    ["takes no writes", () => Promise.reject(new StoreUnavailable("read-only"))],
    ["does not answer writes in time", () => new Promise<never>(() => {})],
  ])("uses existing rows and reports `behind` where the store %s", async (_, transact) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = await createTestLog();
    await log.propose();
    await projectAll(log);
    await log.propose();
    const reading = readProjection(projectionDeps({ ...log.store, transact }, log.clock), waiting);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
    const { as_of, behind, state } = await reading;
    expect([as_of, behind, state.counts]).toEqual([1, 1, { pending_consent: 1 }]);
  });

  test("projects no entry of an invalid log, and reports `behind`", async () => {
    const log = await createTestLog();
    await log.propose();
    await projectAll(log);
    await log.propose();
    const before = await storedRows(log.store);
    const deps = { ...log, integrity: { breach: { first_invalid: 2, reason: "edited" } } };
    const { as_of, behind } = await readProjection(deps, waiting);
    expect([as_of, behind]).toEqual([1, 1]);
    expect(await storedRows(log.store)).toEqual(before);
  });
});

describe("a projection that fails", () => {
  /** Makes reads and writes of a projection's rows and cursor fail. */
  const withoutRecordsOf = (store: Store, projection: (typeof PROJECTIONS)[number], failing: () => boolean): Store => {
    const failIfOwn = (collection: string, id?: string): void => {
      if (
        failing() &&
        ((projection.collections as string[]).includes(collection) ||
          (collection === "cursors" && id === projection.name))
      )
        throw new Error(`${collection} cannot be used`);
    };
    return {
      ...store,
      get: async (collection, id) => (failIfOwn(collection, id), store.get(collection, id)),
      getMany: async (collection, ids) => (failIfOwn(collection, ids[0]), store.getMany(collection, ids)),
      list: async (collection, options) => (failIfOwn(collection), store.list(collection, options)),
      texts: async (collection, which) => (failIfOwn(collection), store.texts(collection, which)),
      transact: (decide) =>
        store.transact((tx) =>
          decide({
            ...tx,
            put: (collection, id, value, expected) => (
              failIfOwn(collection, id),
              tx.put(collection, id, value, expected)
            ),
          }),
        ),
    };
  };

  test.each(PROJECTIONS.map(({ name }, index) => [name, index] as const))(
    "%s: is reported, does not stop the others, and catches up when it works again",
    async (_, index) => {
      let isBroken = true;
      const base = memoryStore();
      const log = await createTestLog(base);
      const failing = PROJECTIONS[index]!;
      const deps = projectionDeps(
        withoutRecordsOf(base, failing, () => isBroken),
        log.clock,
      );
      await runRandomHistory(log, 7, 200, () => projectAll(deps));
      for (const projection of PROJECTIONS)
        if (projection === failing) expect(findProblem(deps, projection)).toContain("cannot be used");
        else expect([findProblem(deps, projection), (await readProjection(log, projection)).behind]).toEqual([null, 0]);
      isBroken = false;
      await projectAll(deps);
      expect(findProblem(deps, failing)).toBeNull();
      const single = await createTestLog();
      await runRandomHistory(single, 7, 200);
      await projectAll(single);
      expect(await storedRows(base)).toEqual(await storedRows(single.store));
    },
  );
});
