/** What every follower has from the engine: slices, fences, readings, rebuilding. */
import { describe, expect, test } from "vitest";
import { entryKey, readHead } from "../../../lib/audit/chain.ts";
import { followAll, FOLLOWERS, problemOf, rebuild } from "../../../lib/projections/follow.ts";
import type { Entry } from "../../../lib/projections/entries.ts";
import { entryReader } from "../../../lib/projections/entry_reader.ts";
import { growthPage } from "../../../lib/projections/growth_log.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { reading, UNSEEN } from "../../../lib/projections/reading.ts";
import { beginning, beginRound, catchUp, storeSlices } from "../../../lib/projections/catch_up.ts";
import { verifyFollowers } from "../../../lib/projections/verify.ts";
import { tally } from "../../../lib/projections/tally.ts";
import { waiting } from "../../../lib/projections/waiting.ts";
import { turn } from "../../../lib/kit/turn.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { countingStore } from "../../support/counting_store.ts";
import { DAY, pass, testClock } from "../../support/clock.ts";
import { dealt } from "../../support/length.ts";
import { gate } from "../../support/scripted_adapter.ts";
import { followDeps, followed, handMade, mulberry } from "./hand_made.ts";
import { live } from "./random_log.ts";

describe("a rebuild leaves the same bytes", () => {
  test.each(dealt([1, 2, 3], 1))("after random history %i, followed now and then", async (seed) => {
    const log = await handMade();
    const random = mulberry(seed + 100);
    await live(log, seed, 400, async () => {
      if (random() < 0.3) await followAll(log);
    });
    log.hours(24 * 31);
    await followAll(log);
    const before = await followed(log.store);
    expect(Object.keys(before).length).toBeGreaterThan(100);
    await rebuild(log);
    expect(await followed(log.store)).toEqual(before);
    expect(await verifyFollowers(log)).toEqual({ tallies_match: true, mismatches: [] });
  });
});

/** A log with so many open outcomes, all about one KPI, that were followed already. */
async function withOpenOutcomes(count: number, store: Store = memoryStore()) {
  const log = await handMade(store);
  await log.feed({ csat: 4 });
  for (let made = 0; made < count; made++)
    await log.applied({ target: `ui.t${made}`, kpi: "csat", expected_delta_k: 0.1 });
  await followAll(log);
  return log;
}

test("what time closed at the head stays closed there, also where another process's clock goes behind", async () => {
  const log = await handMade();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 4.5 });
  const ahead = followDeps(log.store, testClock(log.clock.iso()));
  await pass(ahead, 7 * DAY + 5000);
  await followAll(ahead);
  log.clock.advance(7 * DAY - 2000);
  await log.feed({ csat: 6 });
  await followAll(log);
  const before = await followed(log.store);
  expect((await log.store.get("outcomes", id))!.value.final).toMatchObject({ ended_by: "horizon", current: 4.5 });
  await rebuild(log);
  expect(await followed(log.store)).toEqual(before);
});

test("an outcome that no entry and no cycle has closed yet closes with what was fed by then, not after", async () => {
  const log = await handMade();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  log.clock.advance(7 * DAY);
  await log.feed({ csat: 5 });
  log.clock.advance(1);
  await log.feed({ csat: 3 });
  await followAll(log);
  const { final, applied_at } = (await log.store.get("outcomes", id))!.value;
  expect(final).toMatchObject({ verdict: "met", current: 5, ended_by: "horizon" });
  expect(Date.parse(final!.as_of) - Date.parse(applied_at)).toBe(7 * DAY);
});

test("followers share what one of them read of entries, changes and cycles, wherever they stand in it", async () => {
  const store = memoryStore();
  const log = await handMade(store);
  for (let made = 0; made < 100; made++) await log.step(await log.applied({ kpi: "csat" }), "change_rolled_back", {});
  const { length } = (await readHead(store))!;
  const reads = new Map<string, number>();
  const count = (what: string) => reads.set(what, (reads.get(what) ?? 0) + 1);
  const counted: Store = {
    ...store,
    list: (collection, options) => (count(collection), store.list(collection, options)),
    getMany: (collection, ids) => (count(collection), store.getMany(collection, ids)),
  };
  await followAll({ ...log, store: counted });
  const runs = Math.ceil(length / 64);
  for (const what of ["audit", "changes"]) expect(reads.get(what), what).toBe(runs);
  // Two looks find the cycle of a run, for each follower that asks at the same time.
  expect(reads.get("ticks"), "ticks").toBeLessThan(4 * FOLLOWERS.length * runs);
});

test("a change is read once for all who ask at once, and again where it could not be read", async () => {
  const log = await handMade();
  await log.applied();
  const { length } = (await readHead(log.store))!;
  let broken = true;
  let reads = 0;
  const getMany: Store["getMany"] = async (collection, ids) => {
    reads++;
    if (broken && collection === "changes") throw new Error("the store is away");
    return log.store.getMany(collection, ids);
  };
  const read = entryReader({ ...log, store: { ...log.store, getMany } }, length);
  const { entries, source } = await read(0, length);
  const [{ change_id }] = entries as [Entry];
  await expect(source.change(change_id)).rejects.toThrow("the store is away");
  broken = false;
  reads = 0;
  const asked = await Promise.all([source.change(change_id), source.change(change_id)]);
  for (const change of asked) expect(change).toMatchObject({ change_id, status: "applied" });
  expect(reads).toBe(1);
});

test("none runs away from the others, nor lags behind, while the log grows as fast as one follows it", async () => {
  const base = memoryStore();
  const log = await handMade(base);
  let left = 3000;
  let apart = 0;
  const grow = async (): Promise<void> => {
    for (let made = 0; made < 30 && left-- > 0; made++) await log.propose();
  };
  const store: Store = {
    ...base,
    async transact(decide) {
      let isSlowest = false;
      const result = await base.transact((tx) =>
        decide({
          ...tx,
          put(collection, id, value, expected) {
            isSlowest ||= collection === "cursors" && id === waiting.name;
            tx.put(collection, id, value, expected);
          },
        }),
      );
      if (isSlowest) await grow();
      const at = (await base.list("cursors", { limit: 10 })).map(({ value }) => value.entry);
      if (at.length === FOLLOWERS.length) apart = Math.max(apart, Math.max(...at) - Math.min(...at));
      return result;
    },
  };
  await grow();
  for (const process = followDeps(store, log.clock); left > 0;) await followAll(process);
  expect(apart).toBeGreaterThan(0);
  expect(apart).toBeLessThan(1200);
});

test("a length that was read before the log grew is not that of another log", async () => {
  const log = await handMade();
  for (let made = 0; made < 20; made++) await log.propose();
  const { length } = (await readHead(log.store))!;
  for (let made = 0; made < 20; made++) await log.propose();
  await followAll(log);
  const before = await followed(log.store);
  expect(await storeSlices(log, waiting, log.store, { head: length })).toBeUndefined();
  expect(await followed(log.store)).toEqual(before);
});

test("entries of one run that were written in different cycles are told of by their own", async () => {
  const log = await handMade();
  const ids: string[] = [];
  const cycles: number[] = [];
  for (let tick = 1; tick <= 5; tick++) {
    for (let made = 0; made < 2; made++) {
      const id = await log.applied({ kpi: "csat" });
      await log.step(id, "change_rolled_back", {});
      ids.push(id);
      cycles.push(tick - 1);
    }
    const { length } = (await readHead(log.store))!;
    await log.store.transact((tx) => tx.put("ticks", entryKey(length), { tick }));
  }
  await followAll(log);
  const rows = (await log.store.list("growth_rows", { limit: 100 })).map(({ value }) => value);
  const told = ids.map((id) => rows.find(({ kind, ref }) => kind === "rolled_back" && ref === id)?.tick);
  expect(told).toEqual(cycles);
});

test("what a follower made in another version is made anew", async () => {
  const log = await withOpenOutcomes(2);
  const { value } = (await log.store.get("cursors", "outcomes"))!;
  const made = await followed(log.store);
  const { version, ...earlier } = value;
  expect(version).toBeGreaterThan(1);
  await log.store.transact((tx) => {
    tx.put("cursors", "outcomes", earlier);
    tx.put("closed", "0000000000000007", "made otherwise");
  });
  await followAll(log);
  expect(await followed(log.store)).toEqual(made);
});

test("a verdict is given once, whatever is fed afterwards", async () => {
  const log = await handMade();
  await log.feed({ csat: 4 });
  const id = await log.applied({ kpi: "csat", expected_delta_k: 1 });
  await log.feed({ csat: 5 });
  log.clock.advance(7 * DAY + 1);
  const verdicts: number[] = [];
  for (const csat of [4, 5.5, 4.2]) {
    await log.feed({ csat });
    await followAll(log);
    verdicts.push((await reading(log, outcomes)).state.verdicts);
  }
  expect(verdicts).toEqual([1, 1, 1]);
  const { entries } = await growthPage(log, { limit: 5, kind: "outcome" });
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
  test("writes no more than 50 records, however many outcomes time ends", async () => {
    const counted = countingStore(memoryStore());
    const log = await withOpenOutcomes(1200, counted.store);
    counted.take();
    await log.feed({ csat: 4.2 });
    await followAll(log);
    expect((await reading(log, outcomes)).state.verdicts, "before any horizon").toBe(0);
    await pass(log, 7 * DAY + 1);
    let slices = 0;
    await followAll(log, () => ++slices <= 2 * FOLLOWERS.length);
    await followAll(followDeps(counted.store, log.clock));
    expect((await reading(log, outcomes)).state).toMatchObject({ verdicts: 1200, timed_out: 1200 });
    const records = await log.store.list("outcomes", { limit: 2000 });
    await log.feed({ csat: 4.05 });
    await followAll(log);
    expect(await log.store.list("outcomes", { limit: 2000 }), "no record is written again").toEqual(records);
    expect((await reading(log, outcomes)).state.total.verdict_met).toBe(1200);
    const writes = counted.take().map((written) => new Set(written).size);
    expect(writes.length).toBeGreaterThan(1200 / 50);
    expect(Math.max(...writes)).toBeLessThanOrEqual(50);
    expect(await verifyFollowers(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test.each(dealt([3, 1, 2, 7], 1))(
    "that is lost in a crash is made again: of %i + 1 transactions one fails",
    async (every) => {
      const log = await handMade();
      await live(log, 5, 300);
      const whole = await handMade();
      await live(whole, 5, 300);
      await followAll(whole);
      let transactions = 0;
      // By chance: those that take turns would each meet the same fate for ever.
      const random = mulberry(every);
      const crashing: Store = {
        ...log.store,
        transact: (decide) =>
          ++transactions > 1 && random() < 1 / (every + 1)
            ? Promise.reject(new Error("the process died"))
            : log.store.transact(decide),
      };
      for (let starts = 0; starts < 1000; starts++) {
        const process = followDeps(crashing, log.clock);
        await followAll(process);
        if (FOLLOWERS.every((follower) => problemOf(process, follower) === null)) break;
      }
      expect(transactions).toBeGreaterThan(every);
      expect(await followed(log.store)).toEqual(await followed(whole.store));
    },
  );

  test("is folded over those before it while they are being stored, two at a time", async () => {
    const log = await handMade();
    await live(log, 6, 300);
    let waiting = 0;
    let most = 0;
    const slow: Store = {
      ...log.store,
      async transact(decide) {
        most = Math.max(most, ++waiting);
        for (let turns = 0; turns < 20; turns++) await turn();
        return log.store.transact(decide).finally(() => waiting--);
      },
    };
    const process = followDeps(slow, log.clock);
    await catchUp(process, outcomes, await beginRound(process));
    expect(most).toBe(2);
    await followAll(process);
    const whole = await handMade();
    await live(whole, 6, 300);
    await followAll(whole);
    expect(await followed(log.store)).toEqual(await followed(whole.store));
  });

  test("is refused with the one before it, where another process saw a shorter log and was faster", async () => {
    const log = await handMade();
    for (let made = 0; made < 10; made++) await log.propose();
    await followAll(log);
    for (let made = 0; made < 20; made++) await log.propose();
    const { length } = (await readHead(log.store))!;
    for (let made = 0; made < 120; made++) await log.propose();
    const held = gate();
    const slow: Store = { ...log.store, transact: (decide) => held.opened.then(() => log.store.transact(decide)) };
    const slowly = followDeps(slow, log.clock);
    const going = catchUp(slowly, waiting, await beginRound(slowly));
    for (let turns = 0; turns < 20; turns++) await turn();
    await storeSlices(followDeps(log.store, log.clock), waiting, log.store, { head: length });
    held.open();
    expect(await going).toBe("overtaken");
    expect(await verifyFollowers(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test("that was begun before a rebuild is not stored over what that begins with", async () => {
    const log = await handMade();
    for (let made = 0; made < 150; made++) await log.propose();
    await followAll(log);
    await log.store.transact((tx) => tx.put("cursors", waiting.name, { ...beginning(waiting), clearing: undefined! }));
    const held = gate();
    let stored = 0;
    const wait = (): Promise<unknown> => (++stored === 1 ? Promise.resolve() : held.opened);
    const slow: Store = { ...log.store, transact: (decide) => wait().then(() => log.store.transact(decide)) };
    const slowly = followDeps(slow, log.clock);
    const going = catchUp(slowly, waiting, await beginRound(slowly));
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(stored).toBe(2);
    await log.store.transact((tx) => tx.put("cursors", waiting.name, beginning(waiting)));
    held.open();
    expect(await going).toBe("overtaken");
    expect((await log.store.get("cursors", waiting.name))!.value).toEqual(beginning(waiting));
    await followAll(log);
    expect(await verifyFollowers(log)).toEqual({ tallies_match: true, mismatches: [] });
  });

  test("of one of two processes at once counts: both follow, and what is stored is what one would have stored", async () => {
    const log = await handMade();
    await live(log, 6, 300);
    const one = followDeps(log.store, log.clock);
    const other = followDeps(log.store, log.clock);
    for (let rounds = 0; rounds < 100; rounds++) {
      await Promise.all([followAll(one), followAll(other)]);
      if ((await reading(log, outcomes)).behind === 0) break;
    }
    expect(FOLLOWERS.map((follower) => problemOf(one, follower) ?? problemOf(other, follower))).toEqual(
      FOLLOWERS.map(() => null),
    );
    const whole = await handMade();
    await live(whole, 6, 300);
    await followAll(whole);
    expect(await followed(log.store)).toEqual(await followed(whole.store));
  });
});

test("where another process is faster at one, that alone is left to it", async () => {
  const log = await handMade();
  for (let made = 0; made < 1200; made++) await log.propose();
  await followAll(log);
  for (let made = 0; made < 1200; made++) await log.propose();
  const { length } = (await readHead(log.store))!;
  let faster = false;
  const store: Store = {
    ...log.store,
    async transact(decide) {
      if (!faster) {
        faster = true;
        await catchUp(followDeps(log.store, log.clock), FOLLOWERS[0]!, await beginRound(log));
      }
      return log.store.transact(decide);
    },
  };
  expect(await followAll(followDeps(store, log.clock))).toBe(false);
  const [left, ...others] = await Promise.all(FOLLOWERS.map(({ name }) => log.store.get("cursors", name)));
  expect(left!.value.entry).toBeLessThan(length);
  expect(others.map((cursor) => cursor!.value.entry)).toEqual(others.map(() => length));
});

test("a process that was held up while another went on stores nothing of what it had made", async () => {
  const log = await handMade();
  for (let made = 0; made < 60; made++) {
    await log.feed({ csat: 4 });
    log.hours(24);
  }
  const held = gate();
  const slow: Store = { ...log.store, transact: (decide) => held.opened.then(() => log.store.transact(decide)) };
  const following = followAll(followDeps(slow, log.clock));
  await followAll(log);
  const before = await followed(log.store);
  held.open();
  await following;
  expect(await followed(log.store)).toEqual(before);
});

describe("a reading", () => {
  test.each(dealt([1, 2], 1))("shows what would be stored, and writes nothing: random history %i", async (seed) => {
    const log = await handMade();
    const random = mulberry(seed);
    await live(log, seed, 200, async () => {
      if (random() < 0.1) await followAll(log);
      if (random() > 0.1) return;
      const before = await followed(log.store);
      const readings = await Promise.all(FOLLOWERS.map((follower) => reading(log, follower)));
      expect(readings.map(({ behind }) => behind)).toEqual(FOLLOWERS.map(() => 0));
      const shown: Record<string, string> = {};
      for (const [index, { collections }] of FOLLOWERS.entries())
        for (const collection of collections)
          for (const { id, value } of await readings[index]!.list(collection, { limit: 10_000 }))
            shown[`${collection}/${id}`] = JSON.stringify(value);
      expect(await followed(log.store)).toEqual(before);
      await followAll(log);
      const { cursors, records } = await split(log.store);
      expect(shown).toEqual(records);
      expect(readings.map(({ state }) => JSON.stringify(state))).toEqual(cursors);
    });
  });

  test.each(dealt([3, 4, 5], 1))(
    "that goes on from an earlier one is what a new one is: random history %i",
    async (seed) => {
      const log = await handMade();
      const random = mulberry(seed);
      const shown = async (store: Store) => {
        const one = await Promise.all(FOLLOWERS.map((follower) => reading({ ...log, store }, follower)));
        const lists = one.map(({ list }, index) =>
          FOLLOWERS[index]!.collections.map((collection) => list(collection, { limit: 10_000 })),
        );
        const records = (await Promise.all(lists.flat())).flat().map(({ id, value }) => ({ id, value }));
        return { records, standing: one.map(({ state, as_of, behind }) => ({ state, as_of, behind })) };
      };
      await live(log, seed, 300, async () => {
        const length = (await log.store.get("meta", "chain"))!.value.length;
        for (const follower of FOLLOWERS) {
          const { entry = 0 } = (await log.store.get("cursors", follower.name))?.value ?? {};
          const head = entry + Math.floor(random() * (length - entry + 1));
          // Also where another process's clock goes before.
          const now = new Date(log.clock.now() + random() * 40 * DAY).toISOString();
          if (random() < 0.02) await log.store.transact((tx) => tx.put("cursors", follower.name, beginning(follower)));
          if (random() < 0.2) await storeSlices(log, follower, log.store, { head, ...(random() < 0.3 && { now }) });
        }
        if (random() < 0.5) return;
        const [goingOn, anew] = [await shown(log.store), await shown({ ...log.store })];
        expect(goingOn).toEqual(anew);
      });
    },
  );

  test("that is made again and again beside a burst of writes looks at each entry once", async () => {
    const base = memoryStore();
    let looked = 0;
    const list: Store["list"] = async (collection, options) => {
      const page = await base.list(collection, options);
      if (collection === "audit") looked += page.length;
      return page;
    };
    const log = await handMade({ ...base, list });
    for (let made = 0; made < 300; made++) await log.propose();
    const store = async (head: number) => {
      while (await storeSlices(log, waiting, base, { head }));
    };
    await store(50);
    expect(await reading(log, waiting)).toMatchObject({ as_of: 300, behind: 0 });
    for (let made = 0; made < 5; made++) {
      await log.propose();
      await store(50 * (made + 2));
      looked = 0;
      const { state, ...read } = await reading(log, waiting);
      expect([looked, read.as_of, read.behind, state.counts.pending_consent]).toEqual([1, 301 + made, 0, 301 + made]);
    }
  });

  test("is made anew where a rebuild has not come so far again", async () => {
    const log = await handMade();
    for (let made = 0; made < 100; made++) await log.propose();
    const store = async (head: number) => {
      while (await storeSlices(log, waiting, log.store, { head }));
    };
    await store(50);
    await reading(log, waiting);
    await log.store.transact((tx) => tx.put("cursors", waiting.name, beginning(waiting)));
    await store(10);
    const { state, list } = await reading(log, waiting);
    expect([state.counts.pending_consent, (await list("waiting", { limit: 200 })).length]).toEqual([100, 100]);
  });

  /** What is stored, apart from how far it was followed. */
  async function split(store: Store) {
    const all = Object.entries(await followed(store));
    const cursors = await store.getMany(
      "cursors",
      FOLLOWERS.map(({ name }) => name),
    );
    return {
      cursors: cursors.map((stored) => JSON.stringify(stored!.value.state)),
      records: Object.fromEntries(all.filter(([name]) => !name.startsWith("cursors/"))),
    };
  }

  test("pages over what is stored and what is not, in both directions", async () => {
    const log = await handMade();
    const ids: string[] = [];
    for (let made = 0; made < 30; made++) {
      ids.push(await log.propose());
      if (made % 7 === 6) await followAll(log);
      if (made % 3 === 2) await log.deny(ids[made - 1]!);
    }
    const read = await reading(log, waiting);
    const left = ids.filter((_, index) => index % 3 !== 1).map((id) => `pending_consent:${id}`);
    for (const reverse of [false, true])
      for (const limit of [1, 4, 100]) {
        const seen: string[] = [];
        for (let after: string | undefined; ;) {
          const page = await read.list("waiting", { limit, reverse, keysOnly: true, ...(after && { after }) });
          seen.push(...page.map(({ id }) => id));
          if (page.length < limit) break;
          after = page.at(-1)!.id;
        }
        expect(seen).toEqual(reverse ? [...left].reverse() : left);
      }
  });

  test("folds a thousand unseen entries, and says how many more there are", async () => {
    const log = await handMade();
    await log.propose();
    await followAll(log);
    for (let made = 0; made < UNSEEN; made++) await log.propose();
    expect(await reading(log, waiting)).toMatchObject({ as_of: UNSEEN + 1, behind: 0 });
    expect((await reading(log, waiting)).state.counts).toEqual({ pending_consent: UNSEEN + 1 });
    await log.propose();
    expect(await reading(log, waiting)).toMatchObject({ as_of: UNSEEN + 1, behind: 1 });
    await followAll(log);
    expect(await reading(log, waiting)).toMatchObject({ as_of: UNSEEN + 2, behind: 0 });
  });

  test("that another process overtakes is made again, and counts nothing twice", async () => {
    const base = memoryStore();
    const log = await handMade(base);
    await log.feed({ csat: 4 });
    await followAll(log);
    for (let made = 1; made < 20; made++) await log.feed({ csat: 4 });
    let overtaken = 0;
    const store: Store = {
      ...base,
      list: async (collection, options) => {
        const page = await base.list(collection, options);
        if (collection === "audit" && ++overtaken === 1) await followAll(log);
        return page;
      },
    };
    const read = await reading(followDeps(store, log.clock), tally);
    expect((await read.list("tally_days", { limit: 10 })).map(({ value }) => value)).toEqual([{ kpi_feeds: 20 }]);
    expect([read.state, read.as_of]).toEqual([{ total: { kpi_feeds: 20 } }, 20]);
  });
});

describe("a follower that fails", () => {
  /** Its own records and its cursor can neither be read nor written. */
  const withoutRecordsOf = (store: Store, follower: (typeof FOLLOWERS)[number], failing: () => boolean): Store => {
    const own = (collection: string, id?: string): void => {
      if (
        failing() &&
        ((follower.collections as string[]).includes(collection) || (collection === "cursors" && id === follower.name))
      )
        throw new Error(`${collection} cannot be used`);
    };
    return {
      ...store,
      get: async (collection, id) => (own(collection, id), store.get(collection, id)),
      getMany: async (collection, ids) => (own(collection, ids[0]), store.getMany(collection, ids)),
      list: async (collection, options) => (own(collection), store.list(collection, options)),
      texts: async (collection, which) => (own(collection), store.texts(collection, which)),
      transact: (decide) =>
        store.transact((tx) =>
          decide({
            ...tx,
            put: (collection, id, value, expected) => (own(collection, id), tx.put(collection, id, value, expected)),
          }),
        ),
    };
  };

  test.each(FOLLOWERS.map(({ name }, index) => [name, index] as const))(
    "%s: it is told of, the others go on, and mended it is where it would have been",
    async (_, index) => {
      let broken = true;
      const base = memoryStore();
      const log = await handMade(base);
      const failing = FOLLOWERS[index]!;
      const deps = followDeps(
        withoutRecordsOf(base, failing, () => broken),
        log.clock,
      );
      await live(log, 7, 200, () => followAll(deps));
      for (const follower of FOLLOWERS)
        if (follower === failing) expect(problemOf(deps, follower)).toContain("cannot be used");
        else expect([problemOf(deps, follower), (await reading(log, follower)).behind]).toEqual([null, 0]);
      broken = false;
      await followAll(deps);
      expect(problemOf(deps, failing)).toBeNull();
      const whole = await handMade();
      await live(whole, 7, 200);
      await followAll(whole);
      expect(await followed(base)).toEqual(await followed(whole.store));
    },
  );
});
