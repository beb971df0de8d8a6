/** Concurrent clients at two processes on one store, compared with a model; the histories are made in crowd.ts. */
import { expect, test } from "vitest";
import { histories } from "../../support/length.ts";
import { runHistory, type Seen } from "./crowd.ts";

const slices = histories([1, 4], [5, 60], [5, 200], 200);

test.each(slices)(
  "64 clients at two processes act as the model allows: histories %i to %i",
  { timeout: 900_000 },
  async (first, last) => {
    const seen: Seen = new Map();
    for (let seed = first; seed <= last; seed++) await runHistory(seed, seen);
    const always = ["approved", "change_applied", "change_rolled_back", "agent_may_not", "a way out of approved"];
    const mostly = ["revoked", "applied by itself", "automation_stopped", "too_many_open"];
    if (last - first > 30) always.push(...mostly);
    expect([...seen.keys()]).toEqual(expect.arrayContaining(always));
  },
);
