/**
 * Every call of the file layer fails once, or is the last before a crash; then the store is opened again and compared.
 * The short run tries every thirteenth call, the long one every sixth, each fault from another call on; the full one tries
 * every call.
 */
import { expect, test } from "vitest";
import { rounds } from "../../support/length.ts";
import { compare, crash, everyCall, type Faults, lead, PATH, TAKES_NO_ROOM, TRANSACTIONS, type Trial } from "./life.ts";
import { seeded } from "./model.ts";
import { simulatedDisk } from "./simulated_disk.ts";

const from = (first: number): Trial =>
  rounds({ first, step: 21 }, { first: 1 + (first % 6), step: 6 }, { first: 1, step: 1 });

test("without a fault the life writes several journal files, compacts them, and keeps everything", async () => {
  const disk = simulatedDisk();
  expect(await lead(disk.files)).toBe(TRANSACTIONS);
  expect(disk.paths().filter((path) => path.endsWith(".jsonl")).length).toBeGreaterThan(3);
  expect(disk.content(`${PATH}.journal.000001.jsonl`)?.toString()).toContain('"compacted":true');
  await compare(disk, TRANSACTIONS);
});

test("any call may fail: what was acknowledged is there after a restart", async () => {
  expect(await everyCall({ fails: (call, tried) => call === tried }, from(1))).toBeGreaterThan(100);
}, 180_000);

test("with a disk that fills at any call, all acknowledged data is there after a restart", async () => {
  const full: Faults = { fails: (call, tried) => call === tried, code: "ENOSPC", spared: TAKES_NO_ROOM };
  expect(await everyCall(full, from(2))).toBeGreaterThan(50);
}, 180_000);

test("the process may be killed right after a call that failed, before it can clear up", async () => {
  const killed: Faults = { fails: (call, tried) => call >= tried, spared: TAKES_NO_ROOM };
  expect(await everyCall(killed, from(3))).toBeGreaterThan(50);
}, 180_000);

test("the process may be killed before any call", async () => {
  expect(await everyCall(crash("nothing"), from(4))).toBeGreaterThan(50);
}, 180_000);

test("the power may fail before any call, and everything that was not synced be lost", async () => {
  await everyCall(crash("everything"), from(5));
}, 180_000);

test("the power may fail before any call, and any part of what was not synced be lost", async () => {
  await everyCall(crash(seeded(7)), from(6));
}, 180_000);
