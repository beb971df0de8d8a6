import { expect, test } from "vitest";
import { createAdmission, type UnauthenticatedPeer } from "../../../local/link/admission.ts";

const outsider = (from: string, greeted = false) => {
  const made = { from, greeted, closed: false, close: () => void (made.closed = true) };
  return made satisfies UnauthenticatedPeer;
};

test("64 unauthenticated connections may wait, 8 per address; the oldest idle one is closed", () => {
  const door = createAdmission();
  const crowd = Array.from({ length: 500 }, (_, i) => outsider(`10.0.${i % 20}.1`));
  for (const each of crowd) door.admit(each);
  expect(door.size).toBe(64);
  expect(crowd.filter(({ closed }) => !closed)).toEqual(crowd.slice(-64));

  const one = Array.from({ length: 20 }, () => outsider("10.9.9.9"));
  for (const each of one) door.admit(each);
  expect(one.filter(({ closed }) => !closed)).toEqual(one.slice(-8));
  expect(door.size).toBe(64);
});

test("a connection that has sent a secret's id is closed last, the oldest of them first", () => {
  const door = createAdmission({ total: 3, perAddress: 2 });
  const [first, idle, second, third] = [true, false, true, true].map((greeted) => outsider("a", greeted));
  for (const each of [first!, idle!, second!]) door.admit(each);
  expect([first!.closed, idle!.closed]).toEqual([false, true]);
  door.admit(third!);
  expect([first!.closed, second!.closed, third!.closed]).toEqual([true, false, false]);
  door.admit(outsider("b"));
  expect(door.size).toBe(3);
  expect(second!.closed).toBe(false);
});

test("a closed connection makes room for another", () => {
  const door = createAdmission({ total: 1, perAddress: 1 });
  const first = outsider("a", true);
  door.admit(first);
  door.release(first);
  door.admit(outsider("a"));
  expect(first.closed).toBe(false);
  expect(door.size).toBe(1);
});
