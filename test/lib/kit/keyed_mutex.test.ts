/** A mutex for each key. */
import { expect, test } from "vitest";
import { createKeyedMutex } from "../../../lib/kit/keyed_mutex.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";

test("tasks of one key run one after another, in order; other keys are independent", async () => {
  const mutex = createKeyedMutex();
  const barrier = makeBarrier();
  const order: string[] = [];
  const first = mutex("a", () => barrier.opened.then(() => order.push("a1")));
  const second = mutex("a", async () => order.push("a2"));
  await mutex("b", async () => order.push("b1"));
  barrier.open();
  await Promise.all([first, second]);
  expect(order).toEqual(["b1", "a1", "a2"]);
});

test("a failed task passes its error on, and the next one runs", async () => {
  const mutex = createKeyedMutex();
  const failed = mutex("a", () => Promise.reject(new Error("no")));
  const next = mutex("a", async () => "yes");
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});
