/** A scenario on a simulated disk, which runs once for each call of the file layer, with a fault at that call. */
import { expect } from "vitest";
import { type FileStore, openFileStore } from "../../../local/store/file_store.ts";
import type { Files } from "../../../local/store/files.ts";
import { withFaults, systemError } from "./faulty_files.ts";
import { COLLECTIONS, readContent, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { readableLog } from "./open_test_store.ts";
import { type Loss, type SimulatedDisk, simulatedDisk } from "./simulated_disk.ts";

export const STATE_PATH = "/data/state.json";
export const TRANSACTION_COUNT = 20;
/** The expected content after each number of transactions: those of the scenario, and eight that `expectRecovery` adds. */
const contents = contentsOfWorkload(TRANSACTION_COUNT + 20);

const openStore = (files: Files): Promise<FileStore> =>
  openFileStore({
    path: STATE_PATH,
    files,
    log: readableLog(),
    segmentBytes: 2200,
    now: () => 0,
    newId: () => "id",
    // No timer writes the state file.
    schedule: () => () => undefined,
  });

/** Runs transactions `first` to `last`, four concurrently; returns the number of the last acknowledged one. */
async function runTransactions(store: FileStore, first: number, last: number): Promise<number> {
  let acknowledged = 0;
  for (let n = first; n <= last; n += 4) {
    const group = Array.from({ length: Math.min(4, last - n + 1) }, (_, index) => n + index);
    await Promise.all(
      group.map((number) =>
        store
          .transact((tx) => addWrites(tx, workloadWrites(number)))
          .then(
            () => (acknowledged = Math.max(acknowledged, number)),
            () => undefined,
          ),
      ),
    );
  }
  return acknowledged;
}

/** Runs the scenario, twice: open, write, compact, close. Returns the number of the last acknowledged transaction. */
export async function runScenario(files: Files): Promise<number> {
  let acknowledged = 0;
  try {
    for (const last of [12, TRANSACTION_COUNT]) {
      const store = await openStore(files);
      acknowledged = Math.max(acknowledged, await runTransactions(store, store.status().sequence + 1, last));
      await store.compact().catch(() => undefined);
      await store.close().catch(() => undefined);
    }
  } catch {
    // The fault prevented the store from opening; transactions acknowledged earlier must still be stored.
  }
  return acknowledged;
}

/**
 * Opens the store from the remaining files and expects all acknowledged transactions, and none that was not requested. The
 * content and later commits have to survive a power cut.
 */
export async function expectRecovery(disk: SimulatedDisk, acknowledged: number): Promise<void> {
  const expectContent = async (store: FileStore, count: number): Promise<void> => {
    expect(store.status().sequence).toBe(count);
    expect(store.faults!().lost).toBeNull();
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[count]!));
  };
  let store = await openStore(disk.files);
  const { sequence } = store.status();
  expect(sequence).toBeGreaterThanOrEqual(acknowledged);
  await expectContent(store, sequence);
  disk.crash("everything");
  store = await openStore(disk.files);
  await expectContent(store, sequence);
  expect(await runTransactions(store, sequence + 1, sequence + 8)).toBe(sequence + 8);
  disk.crash("everything");
  store = await openStore(disk.files);
  await expectContent(store, sequence + 8);
  await store.compact();
  await store.close();
  store = await openStore(disk.files);
  await expectContent(store, sequence + 8);
  await store.close();
}

/** Faults in a scenario, and the data that the disk loses afterwards. */
export interface Faults {
  /** Returns whether a call fails, given its number and the number of the call at which the fault occurs. */
  fails(call: number, faultAt: number): boolean;
  /** Calls that are not counted; each fails if `fails` says so for the number of the counted call before it. */
  uncounted?: readonly (keyof Files)[];
  /** The system's error code; `EIO` by default. */
  code?: string;
  loss?: Loss;
  /** Wraps the file layer, to remove a protection. */
  wrapFiles?: (files: Files) => Files;
}

/** Selects the calls at which a fault occurs: every `step`-th from `first` on. */
export interface FaultyCalls {
  first: number;
  step: number;
}

/** Runs the scenario once for each of its calls, with a fault at that call; returns the number of calls. */
export async function runWithFaultAtEachCall(
  { fails, uncounted = [], code = "EIO", loss, wrapFiles }: Faults,
  { first, step }: FaultyCalls = { first: 1, step: 1 },
): Promise<number> {
  for (let faultAt = first; ; faultAt += step) {
    const disk = simulatedDisk();
    let calls = 0;
    const failing = withFaults(disk.files, (call, [fd]) => {
      if (!uncounted.includes(call)) calls++;
      if (!fails(calls, faultAt)) return undefined;
      if (call === "sync" && calls === faultAt) disk.failSync(fd as number);
      return systemError(code);
    });
    const acknowledged = await runScenario(wrapFiles ? wrapFiles(failing) : failing);
    if (calls < faultAt) return calls;
    if (loss) disk.crash(loss);
    try {
      await expectRecovery(disk, acknowledged);
    } catch (error) {
      throw new Error(`with a fault at call ${faultAt}; the disk has ${disk.paths().join(", ")}`, { cause: error });
    }
  }
}

/** Calls that change nothing on the disk. */
export const READ_ONLY_CALLS: readonly (keyof Files)[] = ["read", "size", "names", "close"];

/** Makes a call and all later ones fail, as when the process was killed or the power went out. */
export const crashLosing = (loss: Loss): Faults => ({
  fails: (call, faultAt) => call >= faultAt,
  uncounted: READ_ONLY_CALLS,
  loss,
});
