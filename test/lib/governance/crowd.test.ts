import { expect, test } from "vitest";
import { histories } from "../../support/length.ts";
import { crowded, type Seen } from "./crowd.ts";

const { first, last, timeout } = histories([1, 8], [9, 150]);

test(`64 clients at two processes: histories ${first} to ${last}`, { timeout }, async () => {
  const seen: Seen = new Map();
  for (let seed = first; seed <= last; seed++) await crowded(seed, seen);
  if (process.env["HISTORIES"]) process.stdout.write(`${JSON.stringify(Object.fromEntries(seen))}\n`);
  const always = ["approved", "change_applied", "change_rolled_back", "revoked", "a way out of approved"];
  expect([...seen.keys()]).toEqual(expect.arrayContaining(always));
});
