/** Runs random histories of concurrent clients at two processes on one store, and compares them with a model. */
import { expect, test } from "vitest";
import { histories } from "../../support/run_length.ts";
import { runHistory, type Tally } from "./concurrent_clients.ts";

/** Seeds of the short, the long and the full run, in slices of 200. */
const slices = histories([1, 4], [5, 60], [5, 200], 200);

test.each(slices)(
  "entries and rejections of 64 concurrent clients agree with the model in histories %i to %i",
  { timeout: 900_000 },
  async (first, last) => {
    const tally: Tally = new Map();
    for (let seed = first; seed <= last; seed++) await runHistory(seed, tally);
    const expected = ["approved", "change_applied", "change_rolled_back", "agent_may_not", "an action for approved"];
    const expectedInLongRuns = ["revoked", "applied by itself", "automation_stopped", "too_many_open"];
    // A few histories may miss the rare events.
    if (last - first > 30) expected.push(...expectedInLongRuns);
    expect([...tally.keys()]).toEqual(expect.arrayContaining(expected));
  },
);
