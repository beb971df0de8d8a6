import { expect, test } from "vitest";
import { createTurns } from "../../../lib/governance/turns.ts";
import { gate } from "../../support/scripted_adapter.ts";

test("one name's turns run one at a time, in order; other names go on", async () => {
  const turns = createTurns();
  const hold = gate();
  const order: string[] = [];
  const first = turns("a", () => hold.opened.then(() => order.push("a1")));
  const second = turns("a", async () => order.push("a2"));
  await turns("b", async () => order.push("b1"));
  hold.open();
  await Promise.all([first, second]);
  expect(order).toEqual(["b1", "a1", "a2"]);
});

test("a turn that fails passes its error on, and the next one runs", async () => {
  const turns = createTurns();
  const failed = turns("a", () => Promise.reject(new Error("no")));
  const next = turns("a", async () => "yes");
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});
