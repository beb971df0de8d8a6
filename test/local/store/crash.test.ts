/**
 * Makes each call of the file layer fail once, or be the last before a crash; then opens the store again and compares its
 * content. The short run tests every 21st call, the long one every sixth, and the full one every call. `runWithFaultAtEachCall`
 * returns the number of calls of the scenario, so that a scenario with too few calls is noticed.
 */
import { expect, test } from "vitest";
import { rounds } from "../../support/run_length.ts";
import {
  expectRecovery,
  crashLosing,
  runWithFaultAtEachCall,
  type Faults,
  runScenario,
  STATE_PATH,
  READ_ONLY_CALLS,
  TRANSACTION_COUNT,
  type FaultyCalls,
} from "./crash_scenario.ts";
import { seededRandom } from "./model.ts";
import { simulatedDisk } from "./simulated_disk.ts";

/** Each test begins at another call (`first`), so that the tests together cover more calls. */
const selectCalls = (first: number): FaultyCalls =>
  rounds({ first, step: 21 }, { first: 1 + (first % 6), step: 6 }, { first: 1, step: 1 });

test("the scenario without a fault writes and compacts several journal files, and loses nothing", async () => {
  const disk = simulatedDisk();
  expect(await runScenario(disk.files)).toBe(TRANSACTION_COUNT);
  expect(disk.paths().filter((path) => path.endsWith(".jsonl")).length).toBeGreaterThan(3);
  expect(disk.content(`${STATE_PATH}.journal.000001.jsonl`)?.toString()).toContain('"compacted":true');
  await expectRecovery(disk, TRANSACTION_COUNT);
});

test("after any failed call all acknowledged data is there after a restart", async () => {
  expect(await runWithFaultAtEachCall({ fails: (call, faultAt) => call === faultAt }, selectCalls(1))).toBeGreaterThan(
    100,
  );
}, 180_000);

test("with a disk that fills at any call, all acknowledged data is there after a restart", async () => {
  const diskFull: Faults = { fails: (call, faultAt) => call === faultAt, code: "ENOSPC", uncounted: READ_ONLY_CALLS };
  expect(await runWithFaultAtEachCall(diskFull, selectCalls(2))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost if the process is killed right after a failed call", async () => {
  const killed: Faults = { fails: (call, faultAt) => call >= faultAt, uncounted: READ_ONLY_CALLS };
  expect(await runWithFaultAtEachCall(killed, selectCalls(3))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost if the process is killed before any call", async () => {
  expect(await runWithFaultAtEachCall(crashLosing("nothing"), selectCalls(4))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost by a power cut that loses everything unsynced", async () => {
  await runWithFaultAtEachCall(crashLosing("everything"), selectCalls(5));
}, 180_000);

test("no acknowledged data is lost by a power cut that loses random unsynced data", async () => {
  await runWithFaultAtEachCall(crashLosing(seededRandom(7)), selectCalls(6));
}, 180_000);
