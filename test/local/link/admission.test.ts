import { expect, test } from "vitest";
import { admission, type Stranger } from "../../../local/link/admission.ts";

const stranger = (from: string, greeted = false) => {
  const made = { from, greeted, closed: false, close: () => void (made.closed = true) };
  return made satisfies Stranger;
};

test("64 strangers may wait, 8 of one address; the oldest that is idle makes way for the next", () => {
  const door = admission();
  const crowd = Array.from({ length: 500 }, (_, i) => stranger(`10.0.${i % 20}.1`));
  for (const each of crowd) expect(door.admit(each)).toBe(true);
  expect(door.size).toBe(64);
  expect(crowd.filter(({ closed }) => !closed)).toEqual(crowd.slice(-64));

  const one = Array.from({ length: 20 }, () => stranger("10.9.9.9"));
  for (const each of one) door.admit(each);
  expect(one.filter(({ closed }) => !closed)).toEqual(one.slice(-8));
  expect(door.size).toBe(64);
});

test("who has named a secret is not put out; where all have, the next is not let in", () => {
  const door = admission({ total: 3, perAddress: 2 });
  const [good, idle] = [stranger("a", true), stranger("a")];
  door.admit(good);
  door.admit(idle);
  expect(door.admit(stranger("a", true))).toBe(true);
  expect([good.closed, idle.closed]).toEqual([false, true]);
  expect(door.admit(stranger("a"))).toBe(false);
  expect(door.admit(stranger("b"))).toBe(true);
  expect(door.size).toBe(3);
});

test("who is gone makes room", () => {
  const door = admission({ total: 1, perAddress: 1 });
  const first = stranger("a", true);
  door.admit(first);
  door.release(first);
  expect(door.admit(stranger("a"))).toBe(true);
  expect(first.closed).toBe(false);
});
