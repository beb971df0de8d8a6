/** Kills the process before or after each system call, and verifies that the adapter then reports the true state. */
import * as fs from "node:fs/promises";
import { expect, test } from "vitest";
import type { Store } from "../../../../lib/store/store.ts";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { openFileAdapter, neverAborted, change } from "./open_file_adapter.ts";

class ProcessKilled extends Error {}

/** Returns a file system and a store that fail from step `at` on, before or after that step is done. */
function makeKillable(store: Store, at: number, when: "before" | "after") {
  let steps = 0;
  const handles: fs.FileHandle[] = [];
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps++;
    if (steps > at || (steps === at && when === "before")) throw new ProcessKilled();
    const result = await work();
    if (steps === at) throw new ProcessKilled();
    return result;
  };
  const files = Object.fromEntries(
    Object.entries(fs)
      .filter(([, call]) => typeof call === "function")
      .map(([name, call]) => [
        name,
        (...args: unknown[]) => step(() => (call as (...args: unknown[]) => Promise<unknown>)(...args)),
      ]),
  ) as unknown as Files;
  files.open = (path, flags, mode) =>
    step(async () => {
      const handle = await fs.open(path, flags, mode);
      handles.push(handle);
      for (const name of ["writeFile", "chmod", "chown", "sync"] as const) {
        const call = handle[name].bind(handle) as (...args: unknown[]) => Promise<void>;
        Object.assign(handle, { [name]: (...args: unknown[]) => step(() => call(...args)) });
      }
      return handle;
    });
  const killableStore: Store = { ...store, transact: (decide) => step(() => store.transact(decide)) };
  /** Closes the files that a killed adapter left open. */
  const closeHandles = () => Promise.all(handles.map((handle) => handle.close()));
  return { files, store: killableStore, wasKilled: () => steps >= at, closeHandles };
}

/** The file before the service used it; `kept` is a member that the adapter does not know. */
const base = { values: { t1: { "ui.banner": "by hand" } }, kept: true };
const [a, b] = [change("chg_a"), change("chg_b")];

/** Scenarios: earlier operations, the operation that is killed, and the values with and without it. */
const scenarios = [
  { name: "first apply", before: [], operation: "apply", tested: a, was: "by hand", is: "value of chg_a" },
  {
    name: "apply over an owner",
    before: [a],
    operation: "apply",
    tested: b,
    was: "value of chg_a",
    is: "value of chg_b",
  },
  {
    name: "rollback of an owner",
    before: [a, b],
    operation: "rollback",
    tested: b,
    was: "value of chg_b",
    is: "value of chg_a",
  },
  {
    name: "rollback of a superseded change",
    before: [a, b],
    operation: "rollback",
    tested: a,
    was: "value of chg_b",
    is: "value of chg_b",
  },
] as const;

test.each(
  scenarios.flatMap((scenario) => [
    { ...scenario, when: "before" as const },
    { ...scenario, when: "after" as const },
  ]),
)("$name with the process killed $when any step", async ({ before, operation, tested, was, is, when }) => {
  let [unchanged, changed, at] = [0, 0, 0];
  // The last round is the first one whose operation needs fewer than `at` steps, so that nothing is killed.
  for (let isKilled = true; isKilled;) {
    at++;
    const { apply, rollback, verify, open, store, write, content } = await openFileAdapter();
    await write(base);
    for (const earlier of before) await apply(earlier);
    const killable = makeKillable(store, at, when);
    const adapter = open(killable);
    const outcome = await adapter[operation](tested, neverAborted).then(
      () => "done",
      () => "failed",
    );
    isKilled = killable.wasKilled();
    await killable.closeHandles();

    const [oldState, newState] = operation === "apply" ? ["absent", "applied"] : ["applied", "rolled_back"];
    const isRecorded = (await content()).changes?.[tested.change_id]?.state === newState;
    if (outcome === "done") expect(isRecorded).toBe(true);
    if (isRecorded) changed++;
    else unchanged++;
    expect((await content()).values.t1["ui.banner"]).toBe(isRecorded ? is : was);
    expect(await verify(tested)).toBe(isRecorded ? newState : oldState);

    await (operation === "apply" ? apply(tested) : rollback(tested));
    expect(await verify(tested)).toBe(newState);
    expect((await content()).values.t1["ui.banner"]).toBe(is);
    for (const earlier of [b, a]) if (before.includes(earlier as never) || earlier === tested) await rollback(earlier);
    expect(await content()).toMatchObject(base);
  }
  expect(at).toBeGreaterThan(10);
  expect(unchanged).toBeGreaterThan(3);
  expect(changed).toBeGreaterThan(2);
});
