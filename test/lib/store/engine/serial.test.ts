/** The transactions of a store of one process, which run one after another and let other work run in between. */
import { expect, test } from "vitest";
import { serial } from "../../../../lib/store/engine/serial.ts";
import { makeBarrier } from "../../../support/scripted_adapter.ts";

/** An empty view. */
const emptyView = { versions: (keys: readonly unknown[]) => keys.map(() => undefined), list: () => [] };

test("eight of many concurrent decisions run per turn of the event loop, and all in the end", async () => {
  const turns = [makeBarrier(), makeBarrier()];
  let runCount = 0;
  let turn = 0;
  const store = serial(emptyView, { persist: () => undefined, yieldTurn: () => turns[turn++]!.opened });
  const results = Promise.all(Array.from({ length: 20 }, () => store.transact(() => ++runCount)));
  for (const [index, { open }] of turns.entries()) {
    await expect.poll(() => turn).toBe(index + 1);
    expect(runCount).toBe(8 * (index + 1));
    open();
  }
  expect((await results).at(-1)).toBe(20);
});
