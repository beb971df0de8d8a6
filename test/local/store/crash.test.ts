/**
 * Lets each call of the file layer fail once, or be the last before a crash; then opens the store again and compares it.
 * The short run does so for some calls, the long one for every sixth, and the full one for every call.
 */
import { expect, test } from "vitest";
import { rounds } from "../../support/run_length.ts";
import {
  compare,
  crash,
  runWithFaultAtEachCall,
  type Faults,
  runScenario,
  PATH,
  READ_ONLY_CALLS,
  TRANSACTIONS,
  type FaultyCalls,
} from "./life.ts";
import { seeded } from "./model.ts";
import { simulatedDisk } from "./simulated_disk.ts";

const from = (first: number): FaultyCalls =>
  rounds({ first, step: 21 }, { first: 1 + (first % 6), step: 6 }, { first: 1, step: 1 });

test("the scenario without a fault writes and compacts several journal files, and loses nothing", async () => {
  const disk = simulatedDisk();
  expect(await runScenario(disk.files)).toBe(TRANSACTIONS);
  expect(disk.paths().filter((path) => path.endsWith(".jsonl")).length).toBeGreaterThan(3);
  expect(disk.content(`${PATH}.journal.000001.jsonl`)?.toString()).toContain('"compacted":true');
  await compare(disk, TRANSACTIONS);
});

test("after any failed call all acknowledged data is there after a restart", async () => {
  expect(await runWithFaultAtEachCall({ fails: (call, faultAt) => call === faultAt }, from(1))).toBeGreaterThan(100);
}, 180_000);

test("with a disk that fills at any call, all acknowledged data is there after a restart", async () => {
  const full: Faults = { fails: (call, faultAt) => call === faultAt, code: "ENOSPC", uncounted: READ_ONLY_CALLS };
  expect(await runWithFaultAtEachCall(full, from(2))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost if the process is killed right after a failed call", async () => {
  const killed: Faults = { fails: (call, faultAt) => call >= faultAt, uncounted: READ_ONLY_CALLS };
  expect(await runWithFaultAtEachCall(killed, from(3))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost if the process is killed before any call", async () => {
  expect(await runWithFaultAtEachCall(crash("nothing"), from(4))).toBeGreaterThan(50);
}, 180_000);

test("no acknowledged data is lost by a power cut that loses everything unsynced", async () => {
  await runWithFaultAtEachCall(crash("everything"), from(5));
}, 180_000);

test("no acknowledged data is lost by a power cut that loses random unsynced data", async () => {
  await runWithFaultAtEachCall(crash(seeded(7)), from(6));
}, 180_000);
