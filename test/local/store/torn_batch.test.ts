/**
 * A power cut during the write of a batch may lose any of its sectors. The store must start with all acknowledged commits,
 * never truncate them, and never treat damage to them as a torn batch.
 */
import { beforeEach, expect, test } from "vitest";
import { rounds } from "../../support/run_length.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import type { Files } from "../../../local/store/files.ts";
import { StoreDamaged } from "../../../local/store/journal_format.ts";
import {
  COLLECTIONS,
  readContent,
  contentsOfWorkload,
  storedRecords,
  addWrites,
  seededRandom,
  workloadWrites,
} from "./model.ts";
import { type AnyFileStore, openTestStore } from "./open_test_store.ts";
import { type SimulatedDisk, simulatedDisk } from "./simulated_disk.ts";

const ATTEMPTS = rounds(20, 400, 2000);
const SECTOR = 512;
const STATE = "/data/state.json";
const JOURNAL = `${STATE}.journal.jsonl`;
const ACKNOWLEDGED = 5;
const BATCH_SIZE = 30;
const contents = contentsOfWorkload(ACKNOWLEDGED + BATCH_SIZE + 5);

const commit = async (store: AnyFileStore, first: number, count: number): Promise<void> => {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  await Promise.all(numbers.map((n) => store.transact((tx) => addWrites(tx, workloadWrites(n)))));
};

/** Writes a journal, and returns it before and after its last batch: the commits that waited for the previous sync. */
async function writeJournals(): Promise<{ before: Buffer; after: Buffer; end: number; state: Buffer }> {
  const disk = simulatedDisk();
  const { opened: released, open: release } = makeBarrier();
  let syncAllowed = Promise.resolve();
  let syncCount = 0;
  const sync = (fd: number): Promise<void> => {
    syncCount++;
    return syncAllowed.then(() => disk.files.sync(fd));
  };
  const store = await openTestStore(STATE, { files: { ...disk.files, sync } });
  for (let n = 1; n < ACKNOWLEDGED; n++) await commit(store, n, 1);
  syncAllowed = released;
  syncCount = 0;
  const last = commit(store, ACKNOWLEDGED, 1);
  await expect.poll(() => syncCount).toBe(1);
  let decidedCount = 0;
  const batch = Promise.all(
    Array.from({ length: BATCH_SIZE }, (_, index) =>
      store.transact(async (tx) => {
        await addWrites(tx, workloadWrites(ACKNOWLEDGED + 1 + index));
        decidedCount++;
      }),
    ),
  );
  await expect.poll(() => decidedCount).toBe(BATCH_SIZE);
  release();
  await last;
  const before = Buffer.from(disk.content(JOURNAL)!);
  await batch;
  const after = Buffer.from(disk.content(JOURNAL)!);
  return {
    before,
    after,
    end: after.findLastIndex((byte) => byte !== 0) + 1,
    state: Buffer.from(disk.content(STATE)!),
  };
}

const makeDisk = (journal: Buffer, state: Buffer): SimulatedDisk => {
  const disk = simulatedDisk();
  disk.replace(JOURNAL, journal);
  disk.replace(STATE, state);
  return disk;
};

const openAndExpect = async (files: Files, count: number): Promise<AnyFileStore> => {
  const store = await openTestStore(STATE, { files });
  expect(store.status().sequence).toBe(count);
  expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[count]!));
  return store;
};

let before: Buffer;
let after: Buffer;
let state: Buffer;
/** Start and end of the last batch in the journal, in bytes. */
let start: number;
let end: number;
/** The first sector that has bytes of the batch, and the number of such sectors. */
let first: number;
let sectors: number;

beforeEach(async () => {
  ({ before, after, end, state } = await writeJournals());
  start = before.findLastIndex((byte) => byte !== 0) + 1;
  first = Math.floor(start / SECTOR);
  sectors = Math.ceil(end / SECTOR) - first;
});

test("a batch of several commits has many sectors, and begins within a sector", () => {
  expect(after.subarray(start, end).toString().trimEnd().split("\n")).toHaveLength(1);
  expect(sectors).toBeGreaterThan(8);
  expect(start % SECTOR).not.toBe(0);
});

test("after the loss of any sectors of a batch, the store starts with all acknowledged data", async () => {
  const random = seededRandom(512);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const journal = Buffer.concat([before, Buffer.alloc(Math.max(0, after.length - before.length))]);
    // In turn: one sector is lost, only one sector is written, random sectors are lost.
    const isWritten = (sector: number): boolean => {
      if (attempt < sectors) return sector !== attempt;
      if (attempt < 2 * sectors) return sector === attempt - sectors;
      return random() < 0.5;
    };
    // A sector that is not written may have the same bytes before and after the batch.
    let isComplete = true;
    for (let sector = 0; sector < sectors; sector++) {
      const at = (first + sector) * SECTOR;
      if (isWritten(sector)) after.copy(journal, at, at, at + SECTOR);
      else isComplete &&= after.subarray(at, at + SECTOR).equals(journal.subarray(at, at + SECTOR));
    }
    const disk = makeDisk(journal, state);
    const count = isComplete ? ACKNOWLEDGED + BATCH_SIZE : ACKNOWLEDGED;
    const store = await openAndExpect(disk.files, count);
    await commit(store, count + 1, 3);
    disk.crash("everything");
    await openAndExpect(disk.files, count + 3);
  }
}, 600_000);

test("a lost sector of a batch that is not the last is reported as damage, with file and offset", async () => {
  const disk = makeDisk(after, state);
  const store = await openTestStore(STATE, { files: disk.files });
  await commit(store, ACKNOWLEDGED + BATCH_SIZE + 1, 1);
  const journal = Buffer.from(disk.content(JOURNAL)!);
  // The first and the last sector also have bytes of the batches before and after.
  for (let sector = 1; sector < sectors - 1; sector++) {
    const damaged = Buffer.from(journal);
    damaged.fill(0, (first + sector) * SECTOR, (first + sector + 1) * SECTOR);
    const error: unknown = await openTestStore(STATE, { files: makeDisk(damaged, state).files }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(StoreDamaged);
    expect(error).toMatchObject({ file: JOURNAL, offset: start });
  }
});
