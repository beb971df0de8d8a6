import { EventEmitter, once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { type CheckpointAnchor, storeCurrentCheckpoint, readLastCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { runCheckpointLoop, maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { verifyAgainstAnchor } from "../../../lib/audit/verify_against_anchor.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { LogMissing } from "../../../lib/audit/verify_against_anchor.ts";
import { checkReadiness } from "../../../lib/operations/readiness.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { listCapabilities } from "../../../lib/operations/capabilities.ts";
import { createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { notifyOnCommit } from "../../../lib/store/notify_on_commit.ts";
import { SECOND } from "../../support/clock.ts";
import { openDeps, type TestDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { copyStore } from "../../tamper/world.ts";
import { lengthen, makeLog } from "./synthetic_log.ts";

let anchors = 0;

/** An anchor in memory that can be made to fail. */
function testAnchor(...kept: string[]) {
  const state = { kept, problem: undefined as string | undefined };
  const anchor: CheckpointAnchor = {
    name: `anchor ${++anchors}`,
    append: async (note) => {
      if (state.problem) throw new Error(state.problem);
      state.kept.push(note);
    },
    async *readAll() {
      if (state.problem) throw new Error(state.problem);
      yield state.kept;
    },
  };
  return { ...state, state, anchor };
}

const lengthCovered = async (deps: TestDeps) => (await readLastCheckpoint(deps))?.length;

test("the first checkpoint is made immediately, later ones after 1,024 entries or one second", async () => {
  const deps = await makeLog(1);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(1);
  await lengthen(deps, 1023);
  deps.clock.advance(SECOND - 1);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(1);
  await lengthen(deps, 1);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(1025);
  await lengthen(deps, 1);
  deps.clock.advance(SECOND);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(1026);
});

test("a clock that was set back delays neither checkpoints nor the anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  state.problem = "away";
  await maintainCheckpoint(deps);
  state.problem = undefined;
  deps.clock.advance(-3600 * SECOND);
  await lengthen(deps, 1);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(2);
  expect(state.kept.map((note) => note.split("\n")[1])).toEqual(["2"]);
});

test("no checkpoint is made of an empty log, of a broken chain or without a product", async () => {
  const empty = await makeLog(0);
  await maintainCheckpoint(empty);
  expect(await lengthCovered(empty)).toBeUndefined();
  const without = await openDeps({ intent: null });
  await maintainCheckpoint(without);
  expect(await lengthCovered(without)).toBeUndefined();
  const broken = await makeLog(70);
  broken.integrity.breach = { first_invalid: 1, reason: "broken" };
  await maintainCheckpoint(broken);
  expect(await lengthCovered(broken)).toBeUndefined();
});

test("each new checkpoint is sent to the anchor once", async () => {
  const { anchor, kept } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  for (const entries of [0, 0, 64, 0, 64]) {
    await lengthen(deps, entries);
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
  }
  expect(kept.map((note) => note.split("\n")[1])).toEqual(["1", "65", "129"]);
});

test("a failed anchor is retried after a minute with the newest checkpoint only", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  state.problem = "the anchor answered 500";
  await maintainCheckpoint(deps);
  const anchored = async () => (await deps.store.get("meta", "anchor"))!.value;
  expect(await anchored()).toMatchObject({ length: 0, last_error: "the anchor answered 500", at: deps.clock.iso() });
  const anchorCapability = async () => (await listCapabilities(deps)).find(({ id }) => id === "audit_anchor");
  expect(await anchorCapability()).toMatchObject({ status: "failing", reason: "the anchor answered 500" });
  await lengthen(deps, 64);
  expect(await storeCurrentCheckpoint(deps)).toMatchObject({ length: 65 });
  state.problem = undefined;
  await maintainCheckpoint(deps);
  expect(state.kept).toEqual([]);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(state.kept.map((note) => note.split("\n")[1])).toEqual(["65"]);
  expect(await anchored()).toMatchObject({ length: 65, last_error: null });
  expect(await anchorCapability()).toMatchObject({ status: "available", reason: null });
});

test("an anchor that never responds delays no checkpoint", async () => {
  const deps = {
    ...(await makeLog(1)),
    anchor: { append: () => new Promise<void>(() => {}), readAll: () => undefined },
  };
  void maintainCheckpoint(deps);
  await lengthen(deps, 9);
  expect(await storeCurrentCheckpoint(deps)).toMatchObject({ length: 10 });
});

test("a store that cannot write is logged and causes no exception", async () => {
  const store = failingStore(memoryStore());
  const deps = { ...(await makeLog(3, { store })), anchor: testAnchor().anchor };
  const warnings: string[] = [];
  deps.log = { ...deps.log, warn: (message) => void warnings.push(message) };
  store.fail();
  await maintainCheckpoint(deps);
  expect(warnings).toEqual(["no checkpoint could be made"]);
});

test("in a long-lived process commits trigger checkpoints until the process stops", async () => {
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const made: string[] = [];
  const events = new EventEmitter();
  const anchor: CheckpointAnchor = {
    ...testAnchor().anchor,
    append: async (note) => {
      made.push(note.split("\n")[1]!);
      events.emit("kept");
    },
  };
  const first = once(events, "kept");
  const running = runCheckpointLoop({ ...deps, anchor }, commits);
  await first;
  const second = once(events, "kept");
  await lengthen(deps, 10);
  await lengthen(deps, 1014);
  await second;
  commits.close();
  await running;
  expect(made).toEqual(["1", "1025"]);
});

test("in a long-lived process the last of many entries has a checkpoint after one second", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const running = runCheckpointLoop(deps, commits);
  await vi.advanceTimersByTimeAsync(SECOND);
  await lengthen(deps, 1);
  await vi.advanceTimersByTimeAsync(SECOND - 1);
  expect(await lengthCovered(deps)).toBe(1);
  deps.clock.advance(SECOND);
  await vi.advanceTimersByTimeAsync(10);
  expect(await lengthCovered(deps)).toBe(2);
  commits.close();
  await running;
});

test("checkpoints are still made while an anchor does not respond", async () => {
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const events = new EventEmitter();
  let giveUp = (_: Error): void => {};
  let givenUp: AbortSignal | undefined;
  const anchor: CheckpointAnchor = {
    append: (_, signal) => {
      givenUp = signal;
      events.emit("asked");
      return new Promise((_, reject) => (giveUp = reject));
    },
    readAll: () => undefined,
  };
  const asked = once(events, "asked");
  const running = runCheckpointLoop({ ...deps, anchor }, commits);
  await asked;
  await lengthen(deps, 1024);
  for (let { count } = commits; (await lengthCovered(deps)) !== 1025; { count } = commits)
    await commits.wait(count, 60 * SECOND);
  expect(givenUp?.aborted, "the anchor is still awaited").toBe(false);
  commits.close();
  giveUp(new Error("too late"));
  await running;
});

test("a stopping process does not wait for a silent anchor, and counts no failure", async () => {
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const anchor: CheckpointAnchor = {
    append: (_, signal) => {
      setImmediate(commits.close);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    readAll: () => undefined,
  };
  const warnings: string[] = [];
  const log = { ...deps.log, warn: (message: string) => void warnings.push(message) };
  await runCheckpointLoop({ ...deps, log, anchor }, commits);
  expect(warnings).toEqual([]);
  expect(await deps.store.get("meta", "anchor")).toBeUndefined();
});

test("a broken log sends no checkpoint to its anchor, not even an older one", async () => {
  const { anchor, kept } = testAnchor();
  const deps = { ...(await makeLog(10)), anchor };
  const older = await storeCurrentCheckpoint(deps);
  kept.push(older.note.replace("\n10\n", "\n12\n"));
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 11 });
  await maintainCheckpoint(deps);
  expect(kept).toHaveLength(1);
});

const lengthsIn = (kept: string[]) => kept.map((note) => Number(note.split("\n")[1]));

/** A log of 140 entries, anchored at 1, 70 and 140, and a copy of its store from when it had 70. */
async function logAndCopyAt70() {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  let older = memoryStore();
  for (const entries of [0, 69, 70]) {
    await lengthen(deps, entries);
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
    if (entries === 69) older = await copyStore(deps.store);
  }
  expect(lengthsIn(state.kept)).toEqual([1, 70, 140]);
  return { state, deps, older: { ...deps, store: older, integrity: {} } };
}

const isReady = async (deps: TestDeps) => (await checkReadiness(deps)).ready;
const readAnchorCapability = async (deps: TestDeps) =>
  (await listCapabilities(deps)).find(({ id }) => id === "audit_anchor");

test("a store that was set back stays rejected after it appends an old line to its anchor", async () => {
  const { state, older } = await logAndCopyAt70();
  state.kept.push(state.kept[1]!);
  await verifyAgainstAnchor(older);
  expect(older.integrity).toMatchObject({
    breach: { first_invalid: 71, reason: expect.stringContaining("tail was cut") },
  });
});

test("a rewritten log stays rejected after it appends its own longer checkpoint to the anchor", async () => {
  const { state, older } = await logAndCopyAt70();
  older.clock.advance(SECOND);
  await lengthen(older, 80);
  state.kept.push((await storeCurrentCheckpoint(older)).note);
  expect(lengthsIn(state.kept)).toEqual([1, 70, 140, 150]);
  await verifyAgainstAnchor(older);
  expect(older.integrity).toMatchObject({
    breach: { first_invalid: 140, reason: expect.stringContaining("does not continue") },
  });
});

test("a new anchor receives the newest checkpoint after the next start", async () => {
  const deps = await makeLog(10);
  const startWith = async ({ anchor, kept }: ReturnType<typeof testAnchor>) => {
    const again = { ...deps, anchor, integrity: {} };
    await verifyAgainstAnchor(again);
    await maintainCheckpoint(again);
    expect(await isReady(again)).toBe(true);
    return lengthsIn(kept);
  };
  const first = testAnchor();
  expect(await startWith(first)).toEqual([10]);
  expect(await startWith(first), "the same again").toEqual([10]);
  expect(await startWith(testAnchor())).toEqual([10]);
});

test("an anchor that lost checkpoints makes the service unready and gets none until repaired", async () => {
  const { deps, state } = await logAndCopyAt70();
  const [longest] = state.kept.splice(-1);
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();
  expect(await isReady(deps)).toBe(false);
  const reason = expect.stringMatching(/of 70 entries at most, and one of 140 was kept/);
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "degraded", reason });
  expect((await checkReadiness(deps)).checks).toMatchObject({ anchor: { ok: false, reason } });
  await lengthen(deps, 5);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(lengthsIn(state.kept)).toEqual([1, 70]);
  state.kept.push(longest!);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(lengthsIn(state.kept)).toEqual([1, 70, 140, 145]);
  expect(await isReady(deps)).toBe(true);
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "available" });
});

test("an empty store with an anchor of an existing log is rejected; the error says what to do", async () => {
  const { deps, state } = await logAndCopyAt70();
  const opening = openDeps({ anchor: deps.anchor });
  await expect(opening).rejects.toThrow(LogMissing);
  await expect(opening).rejects.toThrow(/the store is empty.*140 entries.*restore the store.*or name another anchor/);
  state.kept.length = 0;
  expect(await readHead((await openDeps({ anchor: deps.anchor })).store)).toMatchObject({ length: 0 });
});

test("an empty store with an anchor that cannot be read back begins a new log", async () => {
  const anchor: CheckpointAnchor = { append: async () => {}, readAll: () => undefined };
  expect(await isReady(await openDeps({ anchor }))).toBe(true);
});

test("at start the log must continue the last checkpoint of its anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(10)), anchor };
  await verifyAgainstAnchor(deps);
  await maintainCheckpoint(deps);
  await lengthen(deps, 5);
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();

  const shorterLog = { ...(await makeLog(4)), anchor };
  await verifyAgainstAnchor(shorterLog);
  expect(shorterLog.integrity.breach?.reason, "another log").toContain("against the anchor");

  state.kept.push((await storeCurrentCheckpoint(deps)).note.replace("\n15\n", "\n16\n"));
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 16,
    reason: expect.stringContaining("its tail was cut"),
  });
});

test("a rewritten log is rejected by its anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(10)), anchor };
  state.kept.push((await storeCurrentCheckpoint(deps)).note.replace(/\n.{44}\n/, `\n${"A".repeat(43)}=\n`));
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 10,
    reason: expect.stringContaining("does not continue"),
  });
});

test.each([
  ["that cannot be read", "gone"],
  ["that holds no checkpoint", undefined],
])("an anchor %s is degraded and not ready; requests still succeed", async (_, problem) => {
  const { anchor, state } = testAnchor("nonsense");
  state.problem = problem;
  const deps = { ...(await makeLog(10)), anchor };
  const warnings: string[] = [];
  deps.log = { ...deps.log, warn: (message) => void warnings.push(message) };
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();
  expect(warnings).toHaveLength(1);
  expect(await isReady(deps)).toBe(false);
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "degraded", reason: warnings[0] });
});

test("an anchor that never responds delays the start by ten seconds at most", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const warnings: string[] = [];
  const deps = await makeLog(3);
  const log = { ...deps.log, warn: (message: string) => void warnings.push(message) };
  const never = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) });
  const silent: CheckpointAnchor = { append: async () => {}, readAll: never };
  const verifying = verifyAgainstAnchor({ ...deps, log, anchor: silent });
  await vi.advanceTimersByTimeAsync(10_000);
  await verifying;
  expect(warnings).toEqual([
    "the anchor cannot be read, so the log was not verified against it: no answer within 10 s",
  ]);
  expect(deps.integrity.breach).toBeUndefined();
});
