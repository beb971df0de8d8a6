/** Kills the process before or after each system call, and verifies that the adapter then reports the true state. */
import * as fs from "node:fs/promises";
import { expect, test } from "vitest";
import type { Store } from "../../../../lib/store/store.ts";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { bench, calm, change } from "./fixture.ts";

class Died extends Error {}

/** Returns a file system and a store that fail from step `at` on, before or after that step is done. */
function mortal(store: Store, at: number, when: "before" | "after") {
  let steps = 0;
  const handles: fs.FileHandle[] = [];
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps++;
    if (steps > at || (steps === at && when === "before")) throw new Died();
    const done = await work();
    if (steps === at) throw new Died();
    return done;
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
  const dying: Store = { ...store, transact: (decide) => step(() => store.transact(decide)) };
  /** Closes the files that a killed adapter left open. */
  const bury = () => Promise.all(handles.map((handle) => handle.close()));
  return { files, store: dying, died: () => steps >= at, bury };
}

const base = { values: { t1: { "ui.banner": "by hand" } }, kept: true };
const [a, b] = [change("chg_a"), change("chg_b")];

/** Scenarios: earlier operations, the operation that is killed, and the values with and without it. */
const scenarios = [
  { name: "first apply", done: [], operation: "apply", one: a, was: "by hand", is: "value of chg_a" },
  { name: "apply over an owner", done: [a], operation: "apply", one: b, was: "value of chg_a", is: "value of chg_b" },
  {
    name: "rollback of an owner",
    done: [a, b],
    operation: "rollback",
    one: b,
    was: "value of chg_b",
    is: "value of chg_a",
  },
  {
    name: "rollback of a superseded change",
    done: [a, b],
    operation: "rollback",
    one: a,
    was: "value of chg_b",
    is: "value of chg_b",
  },
] as const;

test.each(
  scenarios.flatMap((one) => [
    { ...one, when: "before" as const },
    { ...one, when: "after" as const },
  ]),
)("$name dying $when any step", async ({ done, operation, one, was, is, when }) => {
  let [unseen, seen, at] = [0, 0, 0];
  for (let alive = true; alive;) {
    at++;
    const { apply, rollback, verify, open, store, write, content } = await bench();
    await write(base);
    for (const earlier of done) await apply(earlier);
    const mortals = mortal(store, at, when);
    const adapter = open(mortals);
    const outcome = await adapter[operation](one, calm).then(
      () => "done",
      () => "failed",
    );
    alive = mortals.died();
    await mortals.bury();

    const now = operation === "apply" ? "applied" : "rolled_back";
    const found = (await content()).changes?.[one.change_id]?.state === now;
    if (outcome === "done") expect(found).toBe(true);
    if (found) seen++;
    else unseen++;
    expect((await content()).values.t1["ui.banner"]).toBe(found ? is : was);
    expect(await verify(one)).toBe(found ? now : operation === "apply" ? "absent" : "applied");

    await (operation === "apply" ? apply(one) : rollback(one));
    expect(await verify(one)).toBe(now);
    expect((await content()).values.t1["ui.banner"]).toBe(is);
    for (const earlier of [b, a]) if (done.includes(earlier as never) || earlier === one) await rollback(earlier);
    expect(await content()).toMatchObject(base);
  }
  expect(at).toBeGreaterThan(10);
  expect(unseen).toBeGreaterThan(3);
  expect(seen).toBeGreaterThan(2);
});
