/** Group commit over an engine that other processes also write to: conflicts, cached reads and round trips. */
import { expect, test } from "vitest";
import { type Attempt, Contended, type Engine, type Write } from "../../../../lib/store/engine/attempt.ts";
import { groupCommit } from "../../../../lib/store/engine/group_commit.ts";
import { sortedMap } from "../../../../lib/store/engine/sorted_map.ts";
import { type Key, recordName, type Version } from "../../../../lib/store/engine/view.ts";
import { json } from "../../../../lib/store/json.ts";
import {
  type ListOptions,
  type Prefetch,
  RevisionConflict,
  type Store,
  StoreBusy,
} from "../../../../lib/store/store.ts";
import type { AnyTx } from "../../../contract/any_store.ts";
import { recordedPacing } from "../../../support/recorded_pacing.ts";

/** An engine in memory that a test changes as another process would. */
interface SharedEngine {
  engine: Engine;
  /** Writes a record as another process does. */
  write(id: string, value: unknown): void;
  /** Writes a record without changing the head, which no correct process does. */
  writeWithoutHead(id: string, value: unknown): void;
  value(id: string): unknown;
  /** Returns the round trips since the last call; concurrent requests are one trip. */
  trips(): number;
  /** Runs a function immediately before the next commit is checked. */
  beforeCommit(work: () => void): void;
  failing: boolean;
}

/** Creates the engine: records of one collection, whose head is the number of commits. */
function createSharedEngine(): SharedEngine {
  const versions = new Map<string, Version>();
  const live = sortedMap<Version>();
  let commits = 0;
  let trips = 0;
  let underWay = 0;
  let runBeforeCommit: (() => void) | undefined;

  const trip = async <T>(work: () => T): Promise<T> => {
    if (underWay++ === 0) trips++;
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return work();
  };
  const storeVersion = (version: Version): void => {
    versions.set(recordName(version), version);
    if (version.json) live.set(version.id, version);
    else live.delete(version.id);
  };
  const sharedEngine: SharedEngine = {
    failing: false,
    engine: {
      limits: { writes: 1000, bytes: 1_000_000 },
      begin(): Attempt {
        const head = trip(() => String(commits));
        return {
          head,
          versions: (keys: readonly Key[]) =>
            trip(() => {
              if (sharedEngine.failing) throw new Error("no answer");
              return keys.map((key) => versions.get(recordName(key)));
            }),
          list: (_: string, options: ListOptions<boolean>) => trip(() => live.page(options).map(([, row]) => row)),
          commit: async (writes: readonly Write[]) => {
            const expectedHead = await head;
            return trip(() => {
              runBeforeCommit?.();
              runBeforeCommit = undefined;
              if (String(commits) !== expectedHead) throw new Contended("the head has moved");
              if (writes.some(({ before, ...key }) => versions.get(recordName(key))?.revision !== before?.revision))
                throw new Contended("a record is another");
              if (writes.length > 0) commits++;
              writes.forEach(storeVersion);
              return String(commits);
            });
          },
          abandon: () => Promise.resolve(),
        };
      },
    },
    write(id, value) {
      const before = versions.get(recordName({ collection: "things", id }));
      commits++;
      storeVersion({ collection: "things", id, revision: (before?.revision ?? 0) + 1, json: json(value) });
    },
    writeWithoutHead(id, value) {
      sharedEngine.write(id, value);
      commits--;
    },
    value: (id) => versions.get(recordName({ collection: "things", id }))?.json?.value,
    trips() {
      const taken = trips;
      trips = 0;
      return taken;
    },
    beforeCommit: (work) => void (runBeforeCommit = work),
  };
  return sharedEngine;
}

/** Reads that decisions and prefetch functions have in common. */
type AnyReads = Pick<AnyTx, "get" | "getMany">;

type Decide<T> = (tx: AnyTx) => Promise<T>;

/** Creates a group commit over a shared engine, with recorded pauses between its attempts. */
function openService() {
  const shared = createSharedEngine();
  const pacing = recordedPacing();
  const { transact } = groupCommit(shared.engine, pacing);
  const decide = <T>(decision: Decide<T>, prefetch?: (reads: AnyReads) => Promise<unknown>): Promise<T> =>
    transact(decision as unknown as Parameters<Store["transact"]>[0], prefetch as unknown as Prefetch) as Promise<T>;
  return { ...shared, shared, pacing, decide };
}

/** Increments the record `n`. */
const add: Decide<number> = async (tx) => {
  const next = ((await tx.get("things", "n"))?.value ?? 0) + 1;
  tx.put("things", "n", next);
  return next;
};

/** Reads records one after another; the value of each is the id of the next. */
const readChain =
  (steps: number): Decide<string> =>
  async (tx) => {
    let id = "a";
    for (let step = 0; step < steps; step++) id = (await tx.get("things", id))?.value ?? "nowhere";
    tx.put("things", "end", id);
    return id;
  };

test("missing records are read together with the head", async () => {
  const { decide, trips } = openService();
  const decision: Decide<unknown> = async (tx) => {
    await tx.get("things", "a");
    await tx.get("things", "b");
    await tx.list("things", { limit: 5 });
    tx.put("things", "c", 1);
  };
  // Afterwards the cache knows these records, also that a and b are missing.
  await Promise.all([decide(decision), decide(decision), decide(add)]);
  trips();
  await Promise.all([decide(decision), decide(add), decide(add)]);
  // The head and the commit.
  expect(trips()).toBe(2);
});

test("a process caches what it wrote or read until another process commits", async () => {
  const { decide, trips, write, value } = openService();
  await decide(add);
  trips();
  expect(await decide(add)).toBe(2);
  // The head and the commit.
  expect(trips()).toBe(2);
  write("n", 40);
  expect(await decide(add)).toBe(41);
  // The head, record n again, and the commit.
  expect(trips()).toBe(3);
  write("n", 50);
  await decide((tx) => tx.get("things", "other"));
  // Record n is only read here, so no condition of the commit covers it.
  await decide(async (tx) => tx.put("things", "copy", (await tx.get("things", "n"))!.value));
  expect(value("copy")).toBe(50);
  expect(await decide(add)).toBe(51);
});

test("a decision on a page that has changed meanwhile runs again", async () => {
  const { decide, write, value } = openService();
  const count: Decide<void> = async (tx) =>
    tx.put("things", "count", (await tx.list("things", { limit: 5, prefix: "page" })).length);
  write("page 1", true);
  await decide(count);
  write("page 2", true);
  await decide(count);
  expect(value("count")).toBe(2);
});

test("a decision with several sequential reads runs once", async () => {
  const { decide, write } = openService();
  for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"].map((pair) => [...pair])) write(from!, to);
  let runs = 0;
  const end = await decide((tx) => (runs++, readChain(8)(tx)));
  expect(end).toBe("i");
  expect(runs).toBe(1);
});

test("declared reads of waiting decisions are fetched with the head, also dependent ones", async () => {
  const { decide, write, trips } = openService();
  for (let index = 0; index < 10; index++) write(`r${index}`, `s${index}`);
  await decide(add);
  await decide(add);
  trips();
  const readTwo = (index: number): Promise<string> => {
    const read = async (reads: AnyReads): Promise<string> => {
      const first = await reads.get("things", `r${index}`);
      return (await reads.get("things", first!.value))?.value ?? first!.value;
    };
    return decide(async (tx) => (await add(tx), read(tx)), read);
  };
  const results = await Promise.all(Array.from({ length: 10 }, (_, index) => readTwo(index)));
  expect(results).toEqual(results.map((_, index) => `s${index}`));
  // One trip for the head and the first records, one for the dependent records, one for the commit.
  expect(trips()).toBe(3);
  write("n", 40);
  const [next] = await Promise.all([decide(add, (reads) => reads.get("things", "n")), readTwo(1), readTwo(2)]);
  expect(next).toBe(41);
  // The head shows that the cache is outdated: one trip for the head, two for the declared records again, one for the commit.
  expect(trips()).toBe(4);
});

test("after a failed prefetch the decision reads the records itself", async () => {
  const { decide } = openService();
  expect(await decide(add, () => Promise.reject(new Error("no such change")))).toBe(1);
  const failing = (): never => {
    throw new Error("no such change");
  };
  expect(await decide(add, failing)).toBe(2);
});

test("a conflict during a prefetch ends the attempt, which is repeated", async () => {
  const { shared, pacing } = openService();
  let conflicts = 1;
  const begin = (): Attempt => {
    const attempt = shared.engine.begin();
    const versions: Attempt["versions"] = (keys) =>
      conflicts-- > 0 ? Promise.reject(new Contended("a deadlock")) : attempt.versions(keys);
    return { ...attempt, versions };
  };
  const { transact } = groupCommit({ ...shared.engine, begin }, pacing);
  const prefetch = ((reads: AnyReads) => reads.get("things", "n")) as unknown as Prefetch;
  expect(await transact(add as unknown as Parameters<Store["transact"]>[0], prefetch)).toBe(1);
  expect(pacing.pauses).toHaveLength(1);
});

test("the response to an unawaited prefetch arrives before the decisions run", async () => {
  const { shared, pacing } = openService();
  shared.write("slow", 1);
  let lateResponse: Promise<void> | undefined;
  const answerLate = async (): Promise<void> => {
    // This takes longer than a commit.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const begin = (): Attempt => {
    const attempt = shared.engine.begin();
    const versions: Attempt["versions"] = async (keys) => {
      const found = await attempt.versions(keys);
      if (!lateResponse && keys.some(({ id }) => id === "slow")) await (lateResponse = answerLate());
      return found;
    };
    return { ...attempt, versions };
  };
  const { transact } = groupCommit({ ...shared.engine, begin }, pacing);
  let readOther = (): Promise<unknown> => Promise.resolve();
  let afterEnd: Promise<unknown> | undefined;
  const readWithoutAwait: Prefetch = async (reads) => {
    const { get } = reads as unknown as AnyReads;
    void get("things", "slow");
    readOther = () => get("things", "other");
  };
  const increment: Decide<void> = async (tx) => {
    afterEnd = readOther();
    afterEnd.catch(() => undefined);
    tx.put("things", "slow", ((await tx.get("things", "slow"))?.value ?? 0) + 1);
  };
  const decide = increment as unknown as Parameters<Store["transact"]>[0];
  await transact(decide, readWithoutAwait);
  await expect(afterEnd).rejects.toThrow("has ended");
  await lateResponse;
  await transact(decide);
  expect(shared.value("slow")).toBe(3);
  expect(pacing.pauses).toHaveLength(0);
});

test("a failed read fails the decision, even if the decision catches it", async () => {
  const { decide, write, shared } = openService();
  for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg"].map((pair) => [...pair])) write(from!, to);
  const catchReadErrors: Decide<string> = async (tx) => {
    let id = "a";
    for (let step = 0; step < 6; step++) {
      shared.failing = id === "e";
      id = (await tx.get("things", id).catch(() => undefined))?.value ?? "nowhere";
    }
    return id;
  };
  await expect(decide(catchReadErrors)).rejects.toThrow("no answer");
});

test("a decision that lost a race runs again on the current records", async () => {
  const { decide, write, beforeCommit, value, pacing } = openService();
  await decide(add);
  beforeCommit(() => write("n", 10));
  expect(await decide(add)).toBe(11);
  expect(value("n")).toBe(11);
  expect(pacing.pauses).toHaveLength(1);
});

test("many decisions are correct without running again after others have committed", async () => {
  const { decide, write, value } = openService();
  let runs = 0;
  const countedAdd: Decide<number> = (tx) => (runs++, add(tx));
  for (let round = 0; round < 5; round++) {
    write("n", 100 * round);
    runs = 0;
    const reported = await Promise.all(Array.from({ length: 20 }, () => decide(countedAdd)));
    expect(reported).toEqual(reported.map((_, index) => 100 * round + index + 1));
    expect(runs).toBe(20);
  }
  // 400 from the last round, and 20 increments.
  expect(value("n")).toBe(420);
});

test("a response that arrives after its try has ended is not used by a later try", async () => {
  const { shared, write, pacing } = openService();
  let answer = (): void => undefined;
  const lateResponse = new Promise<void>((resolve) => void (answer = resolve));
  let tries = 0;
  const begin = (): Attempt => {
    const attempt = shared.engine.begin();
    if (++tries > 1) return attempt;
    const head = Promise.reject<string>(new Contended("not now"));
    head.catch(() => undefined);
    const versions: Attempt["versions"] = async (keys) =>
      (await Promise.all([attempt.versions(keys), lateResponse]))[0];
    return { ...attempt, head, versions };
  };
  const { transact } = groupCommit({ ...shared.engine, begin }, pacing);
  const addOne = (): Promise<unknown> => transact(add as unknown as Parameters<Store["transact"]>[0]);
  const first = addOne();
  write("n", 5);
  expect(await first).toBe(6);
  answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await addOne()).toBe(7);
  expect(pacing.pauses).toHaveLength(1);
});

test("a wrong cached record is used for one try only", async () => {
  const { decide, shared, pacing } = openService();
  await decide(add);
  shared.writeWithoutHead("n", 7);
  expect(await decide(add)).toBe(8);
  expect(pacing.pauses).toHaveLength(1);
});

/**
 * Like `openService`, over an engine that uses the last commit as its head and does not read records put as new. A record is put
 * as new with the expected revision 0.
 */
function serviceThatTrustsHead() {
  const { shared, ...rest } = openService();
  const lastCommits: (string | undefined)[] = [];
  const begin = (last?: string): Attempt => {
    lastCommits.push(last);
    if (last === undefined) return shared.engine.begin();
    const attempt = shared.engine.begin();
    return {
      ...attempt,
      head: last,
      commit: async (writes) => {
        if ((await attempt.head) !== last) throw new Contended("the head has moved");
        return attempt.commit(writes);
      },
    };
  };
  const { transact } = groupCommit(
    { ...shared.engine, begin, assumeAbsent: () => ({ found: undefined }) },
    rest.pacing,
  );
  const decide = <T>(decision: Decide<T>): Promise<T> =>
    transact(decision as unknown as Parameters<Store["transact"]>[0]) as Promise<T>;
  return { ...rest, lastCommits, decide };
}

test("the only writer stops reading the head, and reads it again when others write", async () => {
  const { decide, lastCommits, write, pacing } = serviceThatTrustsHead();
  for (let count = 1; count <= 5; count++) expect(await decide(add)).toBe(count);
  // After three commits that directly follow own ones, the last commit is taken for the head.
  expect(lastCommits).toEqual([undefined, undefined, undefined, undefined, "4"]);
  write("n", 10);
  expect(await decide(add)).toBe(11);
  write("n", 20);
  expect(await decide((tx) => tx.get("things", "n"))).toMatchObject({ value: 20 });
  expect(lastCommits.slice(5)).toEqual(["5", undefined, undefined]);
  expect(pacing.pauses).toHaveLength(1);
});

test("no decision is rejected because of a stale record, however long the process was alone", async () => {
  const { decide, write, value } = serviceThatTrustsHead();
  const addUpToFour: Decide<void> = async (tx) => {
    if (((await tx.get("things", "n"))?.value ?? 0) > 3) throw new Error("there are too many");
    await add(tx);
  };
  for (let count = 1; count <= 4; count++) await decide(addUpToFour);
  await expect(decide(addUpToFour)).rejects.toThrow("too many");
  for (let count = 1; count <= 4; count++) await decide(async (tx) => tx.put("things", "other", count));
  write("n", 0);
  await decide(addUpToFour);
  expect(value("n")).toBe(1);
});

test("a record that is put as new is not read; a conflict shows if it exists", async () => {
  const { decide, trips, value, write, pacing } = serviceThatTrustsHead();
  const putNew =
    (id: string): Decide<void> =>
    async (tx) =>
      tx.put("things", id, "new", 0);
  await decide(putNew("a"));
  trips();
  await Promise.all([decide(putNew("b")), decide(putNew("c"))]);
  // The head and the commit.
  expect(trips()).toBe(2);
  write("d", "there");
  const results = await Promise.allSettled([decide(putNew("d")), decide(putNew("e"))]);
  expect(results[0]).toEqual({ status: "rejected", reason: new RevisionConflict("things", "d", 0, 1) });
  expect([value("d"), value("e")]).toEqual(["there", "new"]);
  expect(pacing.pauses).toHaveLength(1);
  await expect(decide(putNew("e"))).rejects.toThrow(RevisionConflict);
  expect(pacing.pauses).toHaveLength(1);
});

test("a record that is presumed new is not read, and is replaced if it exists", async () => {
  const { decide, trips, value, write, pacing } = serviceThatTrustsHead();
  const put =
    (id: string): Decide<void> =>
    async (tx) =>
      tx.put("things", id, "new", "presumed new");
  await decide(put("a"));
  trips();
  await decide(put("b"));
  // The head and the commit.
  expect(trips()).toBe(2);
  write("c", "there");
  await decide(put("c"));
  expect(value("c")).toBe("new");
  expect(pacing.pauses).toHaveLength(1);
});

test("a record that is deleted as missing is read, since no commit would detect it", async () => {
  const { decide, value, write } = serviceThatTrustsHead();
  write("d", "there");
  const clear: Decide<void> = async (tx) => (tx.delete("things", "d", 0), tx.put("things", "made", "d is gone"));
  await expect(decide(clear)).rejects.toThrow(RevisionConflict);
  expect([value("d"), value("made")]).toEqual(["there", undefined]);
});

test("an error of a decision is verified on stored data, also for records that it put as new", async () => {
  const { decide, write } = serviceThatTrustsHead();
  write("d", "another's");
  const putNewAndThrow: Decide<void> = async (tx) => {
    tx.put("things", "d", "mine", 0);
    throw new Error(`d is ${(await tx.get("things", "d"))!.value}`);
  };
  await expect(decide(putNewAndThrow)).rejects.toThrow(RevisionConflict);
});

test("a rejected decision that puts another id in each run is run twice, and no more", async () => {
  const { decide } = serviceThatTrustsHead();
  let runs = 0;
  const putAndThrow: Decide<void> = async (tx) => {
    const id = `id ${++runs}`;
    tx.put("things", id, "new", 0);
    throw new Error(`not ${(await tx.get("things", id))!.value}`);
  };
  await expect(decide(putAndThrow)).rejects.toThrow("not new");
  expect(runs).toBe(2);
});

test("a decision that joins later tries has its own number of tries", async () => {
  // A batch is tried eight times. The second decision joins at the seventh try and needs a ninth.
  const { shared, pacing } = openService();
  let tries = 0;
  let joinedDecision: Promise<unknown> | undefined;
  const begin = (): Attempt => {
    const attempt = shared.engine.begin();
    if (++tries === 7) joinedDecision = transact(addOne);
    const commit = (): Promise<string> => Promise.reject(new Contended("another was faster"));
    return tries <= 8 ? { ...attempt, commit } : attempt;
  };
  const { transact } = groupCommit({ ...shared.engine, begin }, pacing);
  const addOne = add as unknown as Parameters<Store["transact"]>[0];
  await expect(transact(addOne)).rejects.toThrow(StoreBusy);
  expect(await joinedDecision).toBe(1);
});

test("a commit waits for an unawaited read, so that no later decision gets its response", async () => {
  const { shared, pacing } = openService();
  let answer = (): void => undefined;
  const lateResponse = new Promise<void>((resolve) => void (answer = resolve));
  const order: string[] = [];
  const begin = (): Attempt => {
    const attempt = shared.engine.begin();
    const versions: Attempt["versions"] = async (keys) => {
      const found = await attempt.versions(keys);
      if (keys.some(({ id }) => id === "slow")) await lateResponse;
      order.push(...keys.map(({ id }) => id));
      return found;
    };
    const commit: Attempt["commit"] = (writes) => (order.push("commit"), attempt.commit(writes));
    return { ...attempt, versions, commit };
  };
  const { transact } = groupCommit({ ...shared.engine, begin }, pacing);
  for (const [index, id] of ["a", "b", "c", "d", "e", "f"].entries()) shared.write(id, "bcdefg"[index]);
  const readWithoutAwait: Decide<string> = async (tx) => {
    let id = "a";
    for (let step = 0; step < 6; step++) id = (await tx.get("things", id))?.value ?? "nowhere";
    if (id === "g") void tx.get("things", "slow");
    setImmediate(answer);
    tx.put("things", "a", "b");
    return id;
  };
  expect(await transact(readWithoutAwait as unknown as Parameters<Store["transact"]>[0])).toBe("g");
  expect(order.slice(-2)).toEqual(["slow", "commit"]);
});
