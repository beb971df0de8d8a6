import { EventEmitter, once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { type CheckpointAnchor, currentCheckpoint, lastCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { holdAgainstAnchor, keepCheckpoints, maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { capabilitiesOf } from "../../../lib/pulse/capabilities.ts";
import { createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { signalling } from "../../../lib/store/signalling.ts";
import { SECOND } from "../../support/clock.ts";
import { opened, type TestDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { lengthen, logOf } from "./synthetic_log.ts";

/** An anchor in memory that can be told to fail. */
function testAnchor(...kept: string[]) {
  const state = { kept, problem: undefined as string | undefined };
  const anchor: CheckpointAnchor = {
    keep: async (note) => {
      if (state.problem) throw new Error(state.problem);
      state.kept.push(note);
    },
    last: async () => {
      if (state.problem) throw new Error(state.problem);
      return state.kept.at(-1) ?? null;
    },
  };
  return { ...state, state, anchor };
}

const lengthCovered = async (deps: TestDeps) => (await lastCheckpoint(deps))?.length;

test("a checkpoint is made at first, then after 1,024 entries or a second, and not before", async () => {
  const deps = await logOf(1);
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

test("a clock that was set back puts off neither a checkpoint nor the anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await logOf(1)), anchor };
  state.problem = "away";
  await maintainCheckpoint(deps);
  state.problem = undefined;
  deps.clock.advance(-3600 * SECOND);
  await lengthen(deps, 1);
  await maintainCheckpoint(deps);
  expect(await lengthCovered(deps)).toBe(2);
  expect(state.kept.map((note) => note.split("\n")[1])).toEqual(["2"]);
});

test("nothing is made of an empty log, without a product, or of a broken chain", async () => {
  const empty = await logOf(0);
  await maintainCheckpoint(empty);
  expect(await lengthCovered(empty)).toBeUndefined();
  const without = await opened({ intent: null });
  await maintainCheckpoint(without);
  expect(await lengthCovered(without)).toBeUndefined();
  const broken = await logOf(70);
  broken.integrity.breach = { first_invalid: 1, reason: "broken" };
  await maintainCheckpoint(broken);
  expect(await lengthCovered(broken)).toBeUndefined();
});

test("each new checkpoint goes to the anchor once", async () => {
  const { anchor, kept } = testAnchor();
  const deps = { ...(await logOf(1)), anchor };
  for (const entries of [0, 0, 64, 0, 64]) {
    await lengthen(deps, entries);
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
  }
  expect(kept.map((note) => note.split("\n")[1])).toEqual(["1", "65", "129"]);
});

test("an anchor that fails is tried again after a minute, with the newest checkpoint; nothing else waits for it", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await logOf(1)), anchor };
  state.problem = "the anchor answered 500";
  await maintainCheckpoint(deps);
  const anchored = async () => (await deps.store.get("meta", "anchor"))!.value;
  expect(await anchored()).toMatchObject({ length: 0, last_error: "the anchor answered 500", at: deps.clock.iso() });
  const shown = async () => (await capabilitiesOf(deps)).find(({ id }) => id === "audit_anchor");
  expect(await shown()).toMatchObject({ status: "failing", reason: "the anchor answered 500" });
  await lengthen(deps, 64);
  expect(await currentCheckpoint(deps)).toMatchObject({ length: 65 });
  state.problem = undefined;
  await maintainCheckpoint(deps);
  expect(state.kept).toEqual([]);
  deps.clock.advance(60 * SECOND);
  await maintainCheckpoint(deps);
  expect(state.kept.map((note) => note.split("\n")[1])).toEqual(["65"]);
  expect(await anchored()).toMatchObject({ length: 65, last_error: null });
  expect(await shown()).toMatchObject({ status: "available", reason: null });
});

test("an anchor that never answers holds up no checkpoint", async () => {
  const deps = {
    ...(await logOf(1)),
    anchor: { keep: () => new Promise<void>(() => {}), last: async () => undefined },
  };
  void maintainCheckpoint(deps);
  await lengthen(deps, 9);
  expect(await currentCheckpoint(deps)).toMatchObject({ length: 10 });
});

test("a store that cannot write is logged, and nothing is thrown", async () => {
  const store = failingStore(memoryStore());
  const deps = { ...(await logOf(3, { store })), anchor: testAnchor().anchor };
  const warnings: string[] = [];
  deps.log = { ...deps.log, warn: (message) => void warnings.push(message) };
  store.fail();
  await maintainCheckpoint(deps);
  expect(warnings).toEqual(["no checkpoint could be made"]);
});

test("in a process that stays, commits bring checkpoints about, until the signal is closed", async () => {
  const commits = createCommitSignal();
  const deps = await logOf(1, { store: signalling(memoryStore(), commits) });
  const made: string[] = [];
  const events = new EventEmitter();
  const anchor: CheckpointAnchor = {
    ...testAnchor().anchor,
    keep: async (note) => {
      made.push(note.split("\n")[1]!);
      events.emit("kept");
    },
  };
  const first = once(events, "kept");
  const running = keepCheckpoints({ ...deps, anchor }, commits);
  await first;
  const second = once(events, "kept");
  await lengthen(deps, 10);
  await lengthen(deps, 1014);
  await second;
  commits.close();
  await running;
  expect(made).toEqual(["1", "1025"]);
});

test("in a process that stays, the last entry of many has its checkpoint after a second", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const commits = createCommitSignal();
  const deps = await logOf(1, { store: signalling(memoryStore(), commits) });
  const running = keepCheckpoints(deps, commits);
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

test("while an anchor is silent, checkpoints do not fall behind", async () => {
  const commits = createCommitSignal();
  const deps = await logOf(1, { store: signalling(memoryStore(), commits) });
  const events = new EventEmitter();
  let giveUp = (_: Error): void => {};
  let givenUp: AbortSignal | undefined;
  const anchor: CheckpointAnchor = {
    keep: (_, signal) => {
      givenUp = signal;
      events.emit("asked");
      return new Promise((_, reject) => (giveUp = reject));
    },
    last: async () => undefined,
  };
  const asked = once(events, "asked");
  const running = keepCheckpoints({ ...deps, anchor }, commits);
  await asked;
  await lengthen(deps, 1024);
  for (let { count } = commits; (await lengthCovered(deps)) !== 1025; { count } = commits)
    await commits.wait(count, 60 * SECOND);
  expect(givenUp?.aborted, "the anchor is still awaited").toBe(false);
  commits.close();
  giveUp(new Error("too late"));
  await running;
});

test("a process that stops does not wait for a silent anchor, and counts that as no failure", async () => {
  const commits = createCommitSignal();
  const deps = await logOf(1, { store: signalling(memoryStore(), commits) });
  const anchor: CheckpointAnchor = {
    keep: (_, signal) => {
      setImmediate(commits.close);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    last: async () => undefined,
  };
  const warnings: string[] = [];
  const log = { ...deps.log, warn: (message: string) => void warnings.push(message) };
  await keepCheckpoints({ ...deps, log, anchor }, commits);
  expect(warnings).toEqual([]);
  expect(await deps.store.get("meta", "anchor")).toBeUndefined();
});

test("a log found broken gives its anchor nothing: an older checkpoint would stand behind the newest", async () => {
  const { anchor, kept } = testAnchor();
  const deps = { ...(await logOf(10)), anchor };
  const older = await currentCheckpoint(deps);
  kept.push(older.note.replace("\n10\n", "\n12\n"));
  await holdAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 11 });
  await maintainCheckpoint(deps);
  expect(kept).toHaveLength(1);
});

test("an anchor that is new, or lost what it kept, is given the newest checkpoint after the next start", async () => {
  const first = testAnchor();
  const deps = await logOf(10);
  await maintainCheckpoint({ ...deps, anchor: first.anchor });
  const started = async ({ anchor, kept }: ReturnType<typeof testAnchor>) => {
    await holdAgainstAnchor({ ...deps, anchor });
    await maintainCheckpoint({ ...deps, anchor });
    return kept.map((note) => note.split("\n")[1]);
  };
  expect(await started(first), "the same again").toEqual(["10"]);
  const second = testAnchor();
  expect(await started(second)).toEqual(["10"]);
  second.kept.pop();
  expect(await started(second)).toEqual(["10"]);
});

test("at start the log must continue what its anchor kept last", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await logOf(10)), anchor };
  await holdAgainstAnchor(deps);
  await maintainCheckpoint(deps);
  await lengthen(deps, 5);
  await holdAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();

  const setBack = { ...(await logOf(4)), anchor };
  await holdAgainstAnchor(setBack);
  expect(setBack.integrity.breach?.reason, "another log").toContain("against the anchor");

  state.kept.push((await currentCheckpoint(deps)).note.replace("\n15\n", "\n16\n"));
  await holdAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 16,
    reason: expect.stringContaining("its tail was cut"),
  });
});

test("a rewritten log does not get past its anchor", async () => {
  const { anchor, state } = testAnchor();
  const deps = { ...(await logOf(10)), anchor };
  state.kept.push((await currentCheckpoint(deps)).note.replace(/\n.{44}\n/, `\n${"A".repeat(43)}=\n`));
  await holdAgainstAnchor(deps);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 10,
    reason: expect.stringContaining("does not continue"),
  });
});

test.each([
  ["that cannot be read", "gone"],
  ["that holds no checkpoint", undefined],
])("an anchor %s is told of, and refuses nothing", async (_, problem) => {
  const { anchor, state } = testAnchor("nonsense");
  state.problem = problem;
  const deps = { ...(await logOf(10)), anchor };
  const warnings: string[] = [];
  deps.log = { ...deps.log, warn: (message) => void warnings.push(message) };
  await holdAgainstAnchor(deps);
  expect(deps.integrity.breach).toBeUndefined();
  expect(warnings).toHaveLength(1);
});

test("an anchor that never answers holds a start up for ten seconds, and no longer", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const warnings: string[] = [];
  const deps = await logOf(3);
  const log = { ...deps.log, warn: (message: string) => void warnings.push(message) };
  const silent: CheckpointAnchor = { keep: async () => {}, last: () => new Promise(() => {}) };
  const held = holdAgainstAnchor({ ...deps, log, anchor: silent });
  await vi.advanceTimersByTimeAsync(10_000);
  await held;
  expect(warnings).toEqual(["the anchor cannot be read; the log was not held against it"]);
  expect(deps.integrity.breach).toBeUndefined();
});
