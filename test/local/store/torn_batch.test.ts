/**
 * A power cut during the write of a batch may lose any of its sectors. The store must start with all acknowledged commits,
 * never truncate them, and never treat damage to them as a torn batch.
 */
import { beforeEach, expect, test } from "vitest";
import { rounds } from "../../support/run_length.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import type { Files } from "../../../local/store/files.ts";
import { StoreDamaged } from "../../../local/store/journal_format.ts";
import { COLLECTIONS, readContent, history, live, perform, seeded, workload } from "./model.ts";
import { type AnyFileStore, opened } from "./opened.ts";
import { type SimulatedDisk, simulatedDisk } from "./simulated_disk.ts";

const SUBSETS = rounds(20, 400, 2000);
const SECTOR = 512;
const STATE = "/data/state.json";
const JOURNAL = `${STATE}.journal.jsonl`;
const ACKNOWLEDGED = 5;
const TOGETHER = 30;
const contents = history(ACKNOWLEDGED + TOGETHER + 5);

const run = async (store: AnyFileStore, first: number, count: number): Promise<void> => {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  await Promise.all(numbers.map((n) => store.transact((tx) => perform(tx, workload(n)))));
};

/** Returns a journal of acknowledged commits, and the same with one more batch, of commits during its last sync. */
async function written(): Promise<{ before: Buffer; after: Buffer; end: number; state: Buffer }> {
  const disk = simulatedDisk();
  const { opened: ended, open: release } = makeBarrier();
  let held = Promise.resolve();
  let syncing = 0;
  const sync = (fd: number): Promise<void> => {
    syncing++;
    return held.then(() => disk.files.sync(fd));
  };
  const store = await opened(STATE, { files: { ...disk.files, sync } });
  for (let n = 1; n < ACKNOWLEDGED; n++) await run(store, n, 1);
  held = ended;
  syncing = 0;
  const last = run(store, ACKNOWLEDGED, 1);
  await expect.poll(() => syncing).toBe(1);
  let decided = 0;
  const together = Promise.all(
    Array.from({ length: TOGETHER }, (_, index) =>
      store.transact(async (tx) => {
        await perform(tx, workload(ACKNOWLEDGED + 1 + index));
        decided++;
      }),
    ),
  );
  await expect.poll(() => decided).toBe(TOGETHER);
  release();
  await last;
  const before = Buffer.from(disk.content(JOURNAL)!);
  await together;
  const after = Buffer.from(disk.content(JOURNAL)!);
  return {
    before,
    after,
    end: after.findLastIndex((byte) => byte !== 0) + 1,
    state: Buffer.from(disk.content(STATE)!),
  };
}

const diskWith = (journal: Buffer, state: Buffer): SimulatedDisk => {
  const disk = simulatedDisk();
  disk.replace(JOURNAL, journal);
  disk.replace(STATE, state);
  return disk;
};

const holds = async (files: Files, count: number): Promise<AnyFileStore> => {
  const store = await opened(STATE, { files });
  expect(store.status().sequence).toBe(count);
  expect(await readContent(store, COLLECTIONS)).toEqual(live(contents[count]!));
  return store;
};

let before: Buffer;
let after: Buffer;
let state: Buffer;
/** The position of the batch. */
let start: number;
let end: number;
let first: number;
let sectors: number;

beforeEach(async () => {
  ({ before, after, end, state } = await written());
  start = before.findLastIndex((byte) => byte !== 0) + 1;
  first = Math.floor(start / SECTOR);
  sectors = Math.ceil(end / SECTOR) - first;
});

test("a batch of several commits has many sectors, and begins in the last sector of another", () => {
  expect(after.subarray(start, end).toString().trimEnd().split("\n")).toHaveLength(1);
  expect(sectors).toBeGreaterThan(8);
  expect(start % SECTOR).not.toBe(0);
});

test("after the loss of any sectors of a batch, the store starts with all acknowledged data", async () => {
  const random = seeded(512);
  for (let tried = 0; tried < SUBSETS; tried++) {
    const journal = Buffer.from(
      before.length < after.length ? Buffer.concat([before, Buffer.alloc(after.length - before.length)]) : before,
    );
    // First each single sector is lost, then each alone is written, then a random choice.
    const kept = (sector: number): boolean =>
      tried < sectors ? sector !== tried : tried < 2 * sectors ? sector === tried - sectors : random() < 0.5;
    let whole = true;
    for (let sector = 0; sector < sectors; sector++) {
      const at = (first + sector) * SECTOR;
      if (kept(sector)) after.copy(journal, at, at, at + SECTOR);
      else whole &&= after.subarray(at, at + SECTOR).equals(journal.subarray(at, at + SECTOR));
    }
    const disk = diskWith(journal, state);
    const count = whole ? ACKNOWLEDGED + TOGETHER : ACKNOWLEDGED;
    const store = await holds(disk.files, count);
    await run(store, count + 1, 3);
    disk.crash("everything");
    await holds(disk.files, count + 3);
  }
}, 600_000);

test("a lost sector of a batch before another is reported as damage, with file and offset", async () => {
  const disk = diskWith(after, state);
  const store = await opened(STATE, { files: disk.files });
  await run(store, ACKNOWLEDGED + TOGETHER + 1, 1);
  const journal = Buffer.from(disk.content(JOURNAL)!);
  for (let sector = 1; sector < sectors - 1; sector++) {
    const damaged = Buffer.from(journal);
    damaged.fill(0, (first + sector) * SECTOR, (first + sector + 1) * SECTOR);
    const error: unknown = await opened(STATE, { files: diskWith(damaged, state).files }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(StoreDamaged);
    expect(error).toMatchObject({ file: JOURNAL, offset: start });
  }
});
