/** Checkpoints are computed as the log grows and sent to the anchor; at start the log is verified against the anchor. */
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

let anchorCount = 0;

/** Creates an anchor in memory with a name of its own. It fails while `state.problem` is set. */
function testAnchor(...notes: string[]) {
  const state = { notes, problem: undefined as string | undefined };
  const anchor: CheckpointAnchor = {
    name: `anchor ${++anchorCount}`,
    append: async (note) => {
      if (state.problem) throw new Error(state.problem);
      state.notes.push(note);
    },
    async *readAll() {
      if (state.problem) throw new Error(state.problem);
      yield state.notes;
    },
  };
  return { ...state, state, anchor };
}

/** Returns the lengths that checkpoints state, each in its second line. */
const listLengths = (notes: string[]) => notes.map((note) => Number(note.split("\n")[1]));

const readCheckpointLength = async (deps: TestDeps) => (await readLastCheckpoint(deps))?.length;

const readAnchorCapability = async (deps: TestDeps) =>
  (await listCapabilities(deps)).find(({ id }) => id === "audit_anchor");

test("the first checkpoint is stored immediately, later ones after 1,024 entries or one second", async () => {
  const deps = await makeLog(1);
  await maintainCheckpoint(deps);
  expect(await readCheckpointLength(deps)).toBe(1);
  await lengthen(deps, 1023);
  deps.clock.advance(SECOND - 1);
  await maintainCheckpoint(deps);
  expect(await readCheckpointLength(deps)).toBe(1);
  await lengthen(deps, 1);
  await maintainCheckpoint(deps);
  expect(await readCheckpointLength(deps)).toBe(1025);
  await lengthen(deps, 1);
  deps.clock.advance(SECOND);
  await maintainCheckpoint(deps);
  expect(await readCheckpointLength(deps)).toBe(1026);
});

test("a clock that was set back delays neither checkpoints nor the anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  state.problem = "away";
  await maintainCheckpoint(deps);
  state.problem = undefined;
  // By this clock neither the second of a checkpoint nor the minute of a retry is over.
  deps.clock.advance(-3600 * SECOND);
  await lengthen(deps, 1);
  await maintainCheckpoint(deps);
  expect(await readCheckpointLength(deps)).toBe(2);
  expect(listLengths(state.notes)).toEqual([2]);
});

test("no checkpoint is stored for an empty log, for a broken chain or without a product", async () => {
  const empty = await makeLog(0);
  await maintainCheckpoint(empty);
  expect(await readCheckpointLength(empty)).toBeUndefined();
  const withoutProduct = await openDeps({ intent: null });
  await maintainCheckpoint(withoutProduct);
  expect(await readCheckpointLength(withoutProduct)).toBeUndefined();
  const broken = await makeLog(70);
  broken.integrity.breach = { first_invalid: 1, reason: "broken" };
  await maintainCheckpoint(broken);
  expect(await readCheckpointLength(broken)).toBeUndefined();
});

test("each new checkpoint is sent to the anchor once", async () => {
  const { anchor, notes } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  for (const entries of [0, 0, 64, 0, 64]) {
    await lengthen(deps, entries);
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
  }
  expect(listLengths(notes)).toEqual([1, 65, 129]);
});

test("a failed anchor is retried after a minute with the newest checkpoint only", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  state.problem = "the anchor answered 500";
  await maintainCheckpoint(deps);
  const readAnchorRecord = async () => (await deps.store.get("meta", "anchor"))!.value;
  expect(await readAnchorRecord()).toMatchObject({
    length: 0,
    last_error: "the anchor answered 500",
    at: deps.clock.iso(),
  });
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "failing", reason: "the anchor answered 500" });
  await lengthen(deps, 64);
  expect(await storeCurrentCheckpoint(deps)).toMatchObject({ length: 65 });
  state.problem = undefined;
  await maintainCheckpoint(deps);
  expect(state.notes).toEqual([]);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(listLengths(state.notes)).toEqual([65]);
  expect(await readAnchorRecord()).toMatchObject({ length: 65, last_error: null });
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "available", reason: null });
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
  const lengths: string[] = [];
  const events = new EventEmitter();
  const anchor: CheckpointAnchor = {
    ...testAnchor().anchor,
    append: async (note) => {
      lengths.push(note.split("\n")[1]!);
      events.emit("appended");
    },
  };
  const first = once(events, "appended");
  const running = runCheckpointLoop({ ...deps, anchor }, commits);
  await first;
  const second = once(events, "appended");
  await lengthen(deps, 10);
  await lengthen(deps, 1014);
  await second;
  commits.close();
  await running;
  expect(lengths).toEqual(["1", "1025"]);
});

test("in a long-lived process an entry after which none comes has a checkpoint after one second", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const running = runCheckpointLoop(deps, commits);
  await vi.advanceTimersByTimeAsync(SECOND);
  await lengthen(deps, 1);
  await vi.advanceTimersByTimeAsync(SECOND - 1);
  expect(await readCheckpointLength(deps)).toBe(1);
  deps.clock.advance(SECOND);
  await vi.advanceTimersByTimeAsync(10);
  expect(await readCheckpointLength(deps)).toBe(2);
  commits.close();
  await running;
});

test("checkpoints are still stored while an anchor does not respond", async () => {
  const commits = createCommitSignal();
  const deps = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const events = new EventEmitter();
  let failAppend = (_: Error): void => {};
  let appendSignal: AbortSignal | undefined;
  const anchor: CheckpointAnchor = {
    append: (_, signal) => {
      appendSignal = signal;
      events.emit("append");
      return new Promise((_, reject) => (failAppend = reject));
    },
    readAll: () => undefined,
  };
  const appendCalled = once(events, "append");
  const running = runCheckpointLoop({ ...deps, anchor }, commits);
  await appendCalled;
  await lengthen(deps, 1024);
  for (let { count } = commits; (await readCheckpointLength(deps)) !== 1025; { count } = commits)
    await commits.wait(count, 60 * SECOND);
  expect(appendSignal?.aborted, "the anchor is still awaited").toBe(false);
  commits.close();
  failAppend(new Error("too late"));
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
  const { anchor, notes } = testAnchor();
  const deps = { ...(await makeLog(10)), anchor };
  const older = await storeCurrentCheckpoint(deps);
  // The anchor states a longer log than there is.
  notes.push(older.note.replace("\n10\n", "\n12\n"));
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 11 });
  await maintainCheckpoint(deps);
  expect(notes).toHaveLength(1);
});

/** Creates a log of 140 entries with anchored checkpoints at 1, 70 and 140, and a copy of its store at 70 entries. */
async function createLogAndCopyAt70() {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(1)), anchor };
  let storeAt70 = memoryStore();
  for (const entries of [0, 69, 70]) {
    await lengthen(deps, entries);
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
    if (entries === 69) storeAt70 = await copyStore(deps.store);
  }
  expect(listLengths(state.notes)).toEqual([1, 70, 140]);
  return { state, deps, copyAt70: { ...deps, store: storeAt70, integrity: {} } };
}

const isReady = async (deps: TestDeps) => (await checkReadiness(deps)).ready;

test("a store that was set back stays rejected after it appends an old line to its anchor", async () => {
  const { state, copyAt70 } = await createLogAndCopyAt70();
  state.notes.push(state.notes[1]!);
  await verifyAgainstAnchor(copyAt70);
  expect(copyAt70.integrity).toMatchObject({
    breach: { first_invalid: 71, reason: expect.stringContaining("tail was cut") },
  });
});

test("a rewritten log stays rejected after it appends its own longer checkpoint to the anchor", async () => {
  const { state, copyAt70 } = await createLogAndCopyAt70();
  copyAt70.clock.advance(SECOND);
  await lengthen(copyAt70, 80);
  state.notes.push((await storeCurrentCheckpoint(copyAt70)).note);
  expect(listLengths(state.notes)).toEqual([1, 70, 140, 150]);
  await verifyAgainstAnchor(copyAt70);
  expect(copyAt70.integrity).toMatchObject({
    breach: { first_invalid: 140, reason: expect.stringContaining("does not continue") },
  });
});

test("a new anchor receives the newest checkpoint after the next start", async () => {
  const deps = await makeLog(10);
  const startWith = async ({ anchor, notes }: ReturnType<typeof testAnchor>) => {
    const restarted = { ...deps, anchor, integrity: {} };
    await verifyAgainstAnchor(restarted);
    await maintainCheckpoint(restarted);
    expect(await isReady(restarted)).toBe(true);
    return listLengths(notes);
  };
  const first = testAnchor();
  expect(await startWith(first)).toEqual([10]);
  expect(await startWith(first), "the same anchor again").toEqual([10]);
  expect(await startWith(testAnchor())).toEqual([10]);
});

test("an anchor that lost checkpoints makes the service unready and gets none until repaired", async () => {
  const { deps, state } = await createLogAndCopyAt70();
  const [longest] = state.notes.splice(-1);
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();
  expect(await isReady(deps)).toBe(false);
  const reason = expect.stringMatching(/of 70 entries at most, and one of 140 was kept/);
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "degraded", reason });
  expect((await checkReadiness(deps)).checks).toMatchObject({ anchor: { ok: false, reason } });
  await lengthen(deps, 5);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(listLengths(state.notes)).toEqual([1, 70]);
  state.notes.push(longest!);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(listLengths(state.notes)).toEqual([1, 70, 140, 145]);
  expect(await isReady(deps)).toBe(true);
  expect(await readAnchorCapability(deps)).toMatchObject({ status: "available" });
});

test("an empty store with an anchor of an existing log is rejected; the error says what to do", async () => {
  const { deps, state } = await createLogAndCopyAt70();
  const opening = openDeps({ anchor: deps.anchor });
  await expect(opening).rejects.toThrow(LogMissing);
  await expect(opening).rejects.toThrow(/the store is empty.*140 entries.*restore the store.*or name another anchor/);
  state.notes.length = 0;
  expect(await readHead((await openDeps({ anchor: deps.anchor })).store)).toMatchObject({ length: 0 });
});

test("an empty store with an anchor that cannot be read back begins a new log", async () => {
  const anchor: CheckpointAnchor = { append: async () => {}, readAll: () => undefined };
  expect(await isReady(await openDeps({ anchor }))).toBe(true);
});

test("an empty store with an anchor that fails to answer begins no new log", async () => {
  const { anchor, state } = testAnchor();
  state.problem = "no answer";
  const opening = openDeps({ anchor });
  await expect(opening).rejects.toThrow(LogMissing);
  await expect(opening).rejects.toThrow(/its log may have been lost.*no answer.*make the anchor readable/);
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

  state.notes.push((await storeCurrentCheckpoint(deps)).note.replace("\n15\n", "\n16\n"));
  await verifyAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 16,
    reason: expect.stringContaining("its tail was cut"),
  });
});

test("a rewritten log is rejected by its anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await makeLog(10)), anchor };
  // The anchor has another root, in 44 characters of base64, for the same length.
  state.notes.push((await storeCurrentCheckpoint(deps)).note.replace(/\n.{44}\n/, `\n${"A".repeat(43)}=\n`));
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
  const readForever = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) });
  const silent: CheckpointAnchor = { append: async () => {}, readAll: readForever };
  const verifying = verifyAgainstAnchor({ ...deps, log, anchor: silent });
  await vi.advanceTimersByTimeAsync(10_000);
  await verifying;
  expect(warnings).toEqual([
    "the anchor cannot be read, so the log was not verified against it: no answer within 10 s",
  ]);
  expect(deps.integrity.breach).toBeUndefined();
});
