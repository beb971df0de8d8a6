/** The life of a store on a simulated disk, led again for every call it makes, with a fault at that call. */
import { expect } from "vitest";
import { type FileStore, openFileStore } from "../../../local/store/file_store.ts";
import type { Files } from "../../../local/store/files.ts";
import { judged, systemError } from "./faults.ts";
import { COLLECTIONS, readContent, history, live, perform, workload } from "./model.ts";
import { readableLog } from "./opened.ts";
import { type Loss, type SimulatedDisk, simulatedDisk } from "./simulated_disk.ts";

export const PATH = "/data/state.json";
export const TRANSACTIONS = 20;
const contents = history(TRANSACTIONS + 20);

const open = (files: Files): Promise<FileStore> =>
  openFileStore({
    path: PATH,
    files,
    log: readableLog(),
    segmentBytes: 2200,
    now: () => 0,
    newId: () => "id",
    schedule: () => () => undefined,
  });

/** Runs the n-th to the m-th transaction, some at a time; gives the number of the last that was acknowledged. */
async function run(store: FileStore, first: number, last: number): Promise<number> {
  let acknowledged = 0;
  for (let n = first; n <= last; n += 4) {
    const group = Array.from({ length: Math.min(4, last - n + 1) }, (_, index) => n + index);
    await Promise.all(
      group.map((number) =>
        store
          .transact((tx) => perform(tx, workload(number)))
          .then(
            () => (acknowledged = Math.max(acknowledged, number)),
            () => undefined,
          ),
      ),
    );
  }
  return acknowledged;
}

/** A life: opened, written, compacted, closed, opened again and so on. Gives the number of the last that was acknowledged. */
export async function lead(files: Files): Promise<number> {
  let acknowledged = 0;
  try {
    for (const last of [12, TRANSACTIONS]) {
      const store = await open(files);
      acknowledged = Math.max(acknowledged, await run(store, store.status().sequence + 1, last));
      await store.compact().catch(() => undefined);
      await store.close().catch(() => undefined);
    }
  } catch {
    // The fault met the opening: what was acknowledged before must be there all the same.
  }
  return acknowledged;
}

/**
 * Opens what is left and compares it: all that was acknowledged, and nothing that never was asked for. What it shows has
 * to survive a power cut, as must what is committed on top of it.
 */
export async function compare(disk: SimulatedDisk, acknowledged: number): Promise<void> {
  const same = async (store: FileStore, count: number): Promise<void> => {
    expect(store.status().sequence).toBe(count);
    expect(store.faults!().lost).toBeNull();
    expect(await readContent(store, COLLECTIONS)).toEqual(live(contents[count]!));
  };
  let store = await open(disk.files);
  const { sequence } = store.status();
  expect(sequence).toBeGreaterThanOrEqual(acknowledged);
  await same(store, sequence);
  disk.crash("everything");
  store = await open(disk.files);
  await same(store, sequence);
  expect(await run(store, sequence + 1, sequence + 8)).toBe(sequence + 8);
  disk.crash("everything");
  store = await open(disk.files);
  await same(store, sequence + 8);
  await store.compact();
  await store.close();
  store = await open(disk.files);
  await same(store, sequence + 8);
  await store.close();
}

/** Faults in a life, and the data that the machine loses afterwards. */
export interface Faults {
  /** Returns whether a call fails, given the number of the call that is on trial. */
  fails(call: number, tried: number): boolean;
  /** Calls that are not tried. */
  spared?: readonly (keyof Files)[];
  /** The system's error code; `EIO` by default. */
  code?: string;
  loss?: Loss;
  /** Stands between the store and its disk: takes a protection away. */
  between?: (files: Files) => Files;
}

/** Which calls are on trial: the first of them, and how far it is from one to the next. */
export interface Trial {
  first: number;
  step: number;
}

/** Leads a life once for every call it makes, with that call on trial; gives the number of calls. */
export async function everyCall(
  { fails, spared = [], code = "EIO", loss, between }: Faults,
  { first, step }: Trial = { first: 1, step: 1 },
): Promise<number> {
  for (let tried = first; ; tried += step) {
    const disk = simulatedDisk();
    let calls = 0;
    const failing = judged(disk.files, (call, [fd]) => {
      if (!spared.includes(call)) calls++;
      if (!fails(calls, tried)) return undefined;
      if (call === "sync" && calls === tried) disk.failSync(fd as number);
      return systemError(code);
    });
    const acknowledged = await lead(between ? between(failing) : failing);
    if (calls < tried) return calls;
    if (loss) disk.crash(loss);
    try {
      await compare(disk, acknowledged);
    } catch (error) {
      throw new Error(`with a fault at call ${tried}; the disk has ${disk.paths().join(", ")}`, { cause: error });
    }
  }
}

/** Calls that change nothing on the disk. */
export const TAKES_NO_ROOM: readonly (keyof Files)[] = ["read", "size", "names", "close"];

/** Nothing is done from the call on trial on: the process was killed, or the power went out. */
export const crash = (loss: Loss): Faults => ({
  fails: (call, tried) => call >= tried,
  spared: TAKES_NO_ROOM,
  loss,
});
