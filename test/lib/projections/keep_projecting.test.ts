/** Projecting in a long-lived process: after each commit, by polling, after lost races, and until it is stopped. */
import { expect, test } from "vitest";
import { readStatus } from "../../../lib/projections/catch_up.ts";
import { startProjecting, PROJECTIONS } from "../../../lib/projections/projector.ts";
import { createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { RevisionConflict, type Store } from "../../../lib/store/store.ts";
import { openOperations } from "../operations/operations_service.ts";

/**
 * A delay in milliseconds that is longer than any test. `startProjecting` has three: `pause` after a round, `yielding` after a round
 * that lost a race, and `poll` until a round without a commit.
 */
const NEVER = 1e9;

async function openService(store: Store = memoryStore()) {
  const commits = createCommitSignal();
  const { deps, bring } = await openOperations({ store, commits });
  const readBehind = async () =>
    (await Promise.all(PROJECTIONS.map((projection) => readStatus(deps, projection)))).map((status) => status.behind);
  /** Resolves when the condition is true after a commit. */
  const until = async (condition: () => Promise<boolean>): Promise<void> => {
    for (let { count } = commits; !(await condition()); { count } = commits) await commits.wait(count, NEVER);
  };
  return {
    deps,
    bring,
    commits,
    untilCaughtUp: () => until(async () => (await readBehind()).every((count) => count === 0)),
    readBehind,
  };
}

test("each commit is projected, also concurrent ones, until projecting is stopped", async () => {
  const { deps, bring, untilCaughtUp, readBehind } = await openService();
  const projecting = startProjecting(deps, { pause: 0, yielding: 0, poll: NEVER });
  await bring("rolled_back");
  await untilCaughtUp();
  await Promise.all([bring("denied", { target: "ui.a" }), bring("applied", { target: "ui.b" })]);
  await untilCaughtUp();
  await projecting.stop();
  await bring("denied", { target: "ui.c" });
  // The proposal and the denial.
  expect((await readBehind()).every((count) => count === 2)).toBe(true);
});

test("entries of another process are found by polling", async () => {
  const base = memoryStore();
  const { deps, untilCaughtUp } = await openService(base);
  const projecting = startProjecting(deps, { pause: 0, yielding: 0, poll: 1 });
  const other = await openOperations({ store: base });
  await other.bring("rolled_back");
  await untilCaughtUp();
  await projecting.stop();
});

test("a stopping process ends projecting after the current slice", async () => {
  const { deps, bring, commits } = await openService();
  const projecting = startProjecting(deps, { pause: NEVER, yielding: NEVER, poll: NEVER });
  await bring("applied");
  commits.close();
  // Resolves only because the end of the process interrupts the delays.
  await projecting.stop();
});

test("a broken log is not projected, and is projected again when it is valid", async () => {
  const { deps, bring, untilCaughtUp, readBehind } = await openService();
  await bring("applied");
  deps.integrity.breach = { first_invalid: 2, reason: "edited" };
  const projecting = startProjecting(deps, { pause: 0, yielding: 0, poll: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  // All entries: the intent, the proposal, the consent and the apply.
  expect((await readBehind()).every((count) => count === 4)).toBe(true);
  delete deps.integrity.breach;
  await untilCaughtUp();
  await projecting.stop();
});

test("a process that lost the race continues after the pause for the other process", async () => {
  const { deps, bring, untilCaughtUp } = await openService();
  await bring("applied");
  let conflicts = PROJECTIONS.length;
  const conflict = new RevisionConflict("cursors", "tally", 1, 2);
  const transact: Store["transact"] = (decide) =>
    conflicts-- > 0 ? Promise.reject(conflict) : deps.store.transact(decide);
  const projecting = startProjecting(
    { ...deps, store: { ...deps.store, transact } },
    { pause: NEVER, yielding: 0, poll: 0 },
  );
  await untilCaughtUp();
  await projecting.stop();
});
