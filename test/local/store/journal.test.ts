/** Tests the form of the journal, commits that share a sync, and the effects of a failed write or sync. */
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { RevisionConflict, type Store, StoreUnavailable } from "../../../lib/store/store.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { delayableSyncs, withFaults, systemError } from "./faulty_files.ts";
import { COLLECTIONS, readContent, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { openTestStore, readableLog, temporaryFolder } from "./open_test_store.ts";

let state: string;
let journal: string;

beforeEach(async () => {
  state = join(await temporaryFolder(), "data", "deeper", "state.json");
  journal = `${state}.journal.jsonl`;
});

/** Reads the lines of the journal, without the zeros after them. */
const lines = async (): Promise<string[]> =>
  (await readFile(journal, "utf8")).replace(/\0+$/, "").trimEnd().split("\n");

describe("a journal line", () => {
  test("is JSON: a number, the operations, and a checksum over everything before it", async () => {
    const store = await openTestStore(state);
    await store.transact((tx) => {
      tx.put("things", 'a "quoted"\tid', { text: "tab\tand\nline é" });
      tx.put("things", "b", [1]);
    });
    await store.transact((tx) => tx.delete("things", "b"));
    const [header, first, second] = await lines();
    expect(JSON.parse(header!)).toMatchObject({
      format: "countersign-journal/1",
      store: "store-1",
      segment: 1,
      after: 0,
      written_at: "2026-01-02T00:00:00.000Z",
    });
    expect(JSON.parse(first!)).toMatchObject({
      n: 1,
      ops: [
        ["things", 'a "quoted"\tid', 1, { text: "tab\tand\nline é" }],
        ["things", "b", 1, [1]],
      ],
    });
    expect(JSON.parse(second!)).toMatchObject({ n: 2, ops: [["things", "b", 1]] });
    for (const line of [header!, first!, second!]) {
      const body = line.slice(0, line.lastIndexOf(',"crc"'));
      expect((JSON.parse(line) as { crc: string }).crc).toBe(crc32(body).toString(16).padStart(8, "0"));
    }
  });

  test("has an operation between every two tabs, and no other tabs", async () => {
    const store = await openTestStore(state);
    await store.transact((tx) => ["a", "b\t"].forEach((id) => tx.put("things", id, "\t")));
    const parts = (await lines())[1]!.split("\t");
    expect(parts[1]).toBe('["things","a",1,"\\t"]');
    expect(parts[3]).toBe('["things","b\\t",1,"\\t"]');
    expect(parts).toHaveLength(5);
  });

  test("is not written for a transaction without writes", async () => {
    const store = await openTestStore(state);
    await store.transact((tx) => tx.get("things", "a"));
    await store.transact((tx) => tx.delete("things", "absent"));
    await expect(store.transact((tx) => tx.put("things", "a", 1, 7))).rejects.toThrow(RevisionConflict);
    expect(await lines()).toHaveLength(1);
  });
});

test("created folders survive a power cut, since their parent folders are synced", async () => {
  const synced: unknown[] = [];
  const files = withFaults(nodeFiles, (call, [path]) => {
    if (call === "syncFolder") synced.push(path);
    return undefined;
  });
  await openTestStore(state, { files });
  const folder = dirname(state);
  expect(synced).toEqual(expect.arrayContaining([folder, dirname(folder), dirname(dirname(folder))]));
});

test("a start syncs the folder of existing files, also if the snapshot cannot be written", async () => {
  await openTestStore(state).then((store) => store.close());
  const synced: unknown[] = [];
  const files = withFaults(nodeFiles, (call, [path]) => {
    if (call === "syncFolder") synced.push(path);
    return call === "rename" ? systemError("EIO") : undefined;
  });
  await openTestStore(state, { files });
  expect(synced).toContain(dirname(state));
});

test("an audit entry can only be appended, never changed or deleted", async () => {
  const store = await openTestStore(state);
  await store.transact((tx) => {
    tx.put("audit", "0000000000000001", 1, 0);
    tx.put("audit", "0000000000000002", 2, 0);
  });
  for (const id of ["0000000000000001", "0000000000000004", "3", "x"])
    await expect(
      store.transact((tx) => tx.put("audit", id, 9)),
      id,
    ).rejects.toThrow(/next id is 0000000000000003/);
  await expect(store.transact((tx) => tx.delete("audit", "0000000000000002"))).rejects.toThrow(/only appended to/);
  expect((await store.list("audit", { limit: 9 })).map(({ value }) => value)).toEqual([1, 2]);
  await store.transact((tx) => tx.put("audit", "0000000000000003", 3, 0));
});

test("commits during a sync share the next write and sync", async () => {
  const layer = delayableSyncs(nodeFiles);
  const store = await openTestStore(state, { files: layer.files });
  await store.transact((tx) => tx.put("things", "before", 0));
  layer.calls.length = 0;
  const release = layer.delay();
  const first = store.transact((tx) => tx.put("things", "first", 0));
  await layer.whenDelayed();
  const rest = Array.from({ length: 100 }, (_, n) => store.transact((tx) => tx.put("things", `r${n}`, n)));
  // Transactions are decided in order, so all of them wait for the sync now.
  await new Promise<void>((decided) => void store.transact(() => decided()));
  release();
  await Promise.all([first, ...rest]);
  expect(layer.calls).toEqual(["write", "sync", "write", "sync"]);
});

test.each([
  ["one byte", "x"],
  ["two bytes", "é"],
  ["three bytes", "字"],
  ["four bytes", "😀"],
])("values of any size are stored completely, in characters of %s", async (_, character) => {
  const store = await openTestStore(state);
  const lengths = [10_000, 21_000, 40_000, 80_000, 240_000];
  for (const length of lengths)
    await store.transact((tx) => tx.put("things", String(length), character.repeat(length)));
  await store.close();
  const again = await openTestStore(state);
  for (const length of lengths)
    expect((await again.get("things", String(length)))?.value === character.repeat(length), `${length}`).toBe(true);
});

test("commits of consecutive event loop turns share a sync, up to a limit", async () => {
  const store = await openTestStore(state);
  const puts = Array.from({ length: 96 }, (_, n) => store.transact((tx) => tx.put("things", `t${n}`, n)));
  await Promise.all(puts);
  const [, first] = await lines();
  const { n: commitsInFirstLine } = JSON.parse(first!) as { n: number };
  // A batch is written once it has 48 commits, and eight commits arrive in each turn.
  expect(commitsInFirstLine).toBeGreaterThanOrEqual(48);
  expect(commitsInFirstLine).toBeLessThanOrEqual(56);
});

test("commits that share a write are one line, with only the last version of each record", async () => {
  const layer = delayableSyncs(nodeFiles);
  const store = await openTestStore(state, { files: layer.files, memoryBytes: 64 * 1024 });
  await store.transact((tx) => tx.put("things", "a", 0));
  const commits = [1, 2, 3].map((n) =>
    store.transact((tx) => {
      tx.put("audit", `000000000000000${n}`, { n }, 0);
      tx.put("meta", "chain", n);
      if (n === 2) tx.delete("things", "a");
      else tx.put("things", n === 3 ? "a" : "b", n);
    }),
  );
  await Promise.all(commits);
  const text = (await lines()).at(-1)!;
  // The line has the commits after `prev` up to `n`; the number in `audit` is the id of its first entry.
  expect(JSON.parse(text)).toMatchObject({
    n: 4,
    prev: 1,
    audit: [1, { n: 1 }, { n: 2 }, { n: 3 }],
    ops: [
      // A row without an id has the highest revision of the collection's deleted records.
      ["things", "", 1],
      ["meta", "chain", 3, 3],
      ["things", "b", 1, 1],
      ["things", "a", 2, 3],
    ],
  });
  expect(text).toContain('\t{"n":1}\t,\t{"n":2}\t,\t{"n":3}\t');
});

test("the journal is extended with zeros before writes, and closing removes the zeros", async () => {
  const sizes: number[] = [];
  const files: Files = {
    ...nodeFiles,
    async sync(fd) {
      sizes.push(await nodeFiles.size(fd));
      await nodeFiles.sync(fd);
    },
  };
  const store = await openTestStore(state, { files });
  await store.transact((tx) => tx.put("things", "a", 1));
  sizes.length = 0;
  for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", "a", "x".repeat(1000)));
  expect(new Set(sizes).size).toBe(1);
  await store.close();
  expect((await readFile(journal)).includes(0)).toBe(false);
  expect((await stat(journal)).size).toBeGreaterThan(20_000);
});

test("a commit is stored also if the journal cannot be extended with zeros", async () => {
  const files = withFaults(nodeFiles, (call, [, bytes]) =>
    call === "writeNow" && (bytes as Buffer).every((byte) => byte === 0) ? systemError("ENOSPC") : undefined,
  );
  const store = await openTestStore(state, { files });
  for (let n = 1; n <= 5; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
  await store.close();
  expect(await readContent(await openTestStore(state), COLLECTIONS)).toEqual(storedRecords(contentsOfWorkload(5)[5]!));
});

describe("when the disk fails", () => {
  const contents = contentsOfWorkload(20);

  /** Opens a store with five commits, whose file layer then fails all calls of one kind. */
  async function openFailing(
    failed: keyof Files,
    error: Error,
  ): Promise<{
    store: Awaited<ReturnType<typeof openTestStore>>;
    tries(): number;
    log: ReturnType<typeof readableLog>;
  }> {
    let broken = false;
    let tries = 0;
    const log = readableLog();
    const files = withFaults(nodeFiles, (call) => {
      if (!broken || call !== failed) return undefined;
      tries++;
      return error;
    });
    const store = await openTestStore(state, { files, log });
    for (let n = 1; n <= 5; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
    broken = true;
    return { store, tries: () => tries, log };
  }

  const reopen = async (): Promise<Store> => openTestStore(state);

  test.each([
    ["writeNow", "ENOSPC"],
    ["writeNow", "EIO"],
    ["sync", "EIO"],
  ] as const)("a failed %s (%s) fails all waiting writes, and stores none of them", async (call, code) => {
    const { store, tries, log } = await openFailing(call, systemError(code));
    const waiting = [6, 7, 8].map((n) => store.transact((tx) => addWrites(tx, workloadWrites(n))));
    const reading = store.transact((tx) => tx.get("meta", "chain"));
    const throwing = store.transact(async (tx) => {
      throw new Error(`read ${JSON.stringify(await tx.get("meta", "chain"))}`);
    });
    for (const outcome of await Promise.allSettled([...waiting, reading, throwing])) {
      expect(outcome.status).toBe("rejected");
      const { reason } = outcome as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(StoreUnavailable);
      expect(reason.message).toContain(journal);
      expect(reason.message).toContain(code);
      expect(reason.cause).toMatchObject({ code });
    }
    expect(tries()).toBe(1);
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[5]!));
    expect(store.status()).toMatchObject({ sequence: 5, failure: expect.stringContaining(code) as string });
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    await store.close();
    expect(await readContent(await reopen(), COLLECTIONS)).toEqual(storedRecords(contents[5]!));
  });

  test("no write is made or retried, and reads go on", async () => {
    const { store, tries } = await openFailing("sync", systemError("EIO"));
    await expect(store.transact((tx) => addWrites(tx, workloadWrites(6)))).rejects.toThrow(StoreUnavailable);
    const before = await readFile(journal);
    let ran = false;
    await expect(store.transact(() => void (ran = true))).rejects.toThrow(StoreUnavailable);
    expect(ran).toBe(false);
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[5]!));
    await store.close();
    expect(tries()).toBe(1);
    expect(await readFile(journal)).toEqual(before);
  });

  test("a transaction that runs during the failure is rejected, whatever it returns", async () => {
    const { store } = await openFailing("sync", systemError("EIO"));
    const written = store.transact((tx) => addWrites(tx, workloadWrites(6)));
    let goOn = (): void => undefined;
    const running = store.transact(async (tx) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      return (await tx.get("meta", "chain"))?.value;
    });
    await expect(written).rejects.toThrow(StoreUnavailable);
    goOn();
    await expect(running).rejects.toThrow(StoreUnavailable);
  });

  test("a commit that depends on a failed sync fails too", async () => {
    const layer = delayableSyncs(nodeFiles);
    let broken = false;
    const sync: Files["sync"] = async (fd) => {
      await layer.files.sync(fd);
      if (broken) throw systemError("EIO");
    };
    const store = await openTestStore(state, { files: { ...layer.files, sync } });
    await store.transact((tx) => addWrites(tx, workloadWrites(1)));
    broken = true;
    const release = layer.delay();
    const first = store.transact((tx) => addWrites(tx, workloadWrites(2)));
    await layer.whenDelayed();
    const dependent = [3, 4].map((n) => store.transact((tx) => addWrites(tx, workloadWrites(n))));
    await new Promise<void>((decided) => void store.transact(() => decided()).catch(() => undefined));
    release();
    const outcomes = await Promise.allSettled([first, ...dependent]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[1]!));
    await store.close();
    expect(await readContent(await reopen(), COLLECTIONS)).toEqual(storedRecords(contents[1]!));
  });

  test("a partial write leaves no partial line", async () => {
    let bytesUntilFailure = Number.POSITIVE_INFINITY;
    const files: Files = {
      ...nodeFiles,
      writeNow(fd, bytes, position) {
        if (bytesUntilFailure === 0) throw systemError("ENOSPC");
        const part = bytes.subarray(0, Math.min(bytes.length, bytesUntilFailure));
        bytesUntilFailure -= part.length;
        return nodeFiles.writeNow(fd, part, position);
      },
    };
    const store = await openTestStore(state, { files });
    for (let n = 1; n <= 5; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
    bytesUntilFailure = 100;
    await expect(store.transact((tx) => addWrites(tx, workloadWrites(6)))).rejects.toThrow(/ENOSPC/);
    await store.close();
    const again = await openTestStore(state);
    expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[5]!));
  });

  test("a write in many short parts is complete", async () => {
    const files: Files = {
      ...nodeFiles,
      write: (fd, bytes, position) => nodeFiles.write(fd, bytes.subarray(0, 7), position),
      writeNow: (fd, bytes, position) => nodeFiles.writeNow(fd, bytes.subarray(0, 7), position),
    };
    const store = await openTestStore(state, { files });
    for (let n = 1; n <= 5; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
    await store.close();
    expect(await readContent(await reopen(), COLLECTIONS)).toEqual(storedRecords(contents[5]!));
  });

  test.each(["rename", "syncFolder", "open"] as const)(
    "a failed %s while a journal file is sealed loses nothing",
    async (failed) => {
      let broken = false;
      const files = withFaults(nodeFiles, (call) => (broken && call === failed ? systemError("EIO") : undefined));
      const store = await openTestStore(state, { files, segmentBytes: 2000 });
      for (let n = 1; n <= 5; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
      broken = true;
      let acknowledged = 5;
      const more = async (): Promise<void> => {
        for (let n = 6; n <= 20; n++, acknowledged++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
      };
      await expect(more()).rejects.toThrow(StoreUnavailable);
      expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[acknowledged]!));
      await store.close();
      const again = await openTestStore(state);
      expect(again.status().sequence).toBe(acknowledged);
      expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[acknowledged]!));
    },
  );
});
