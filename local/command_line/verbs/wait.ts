/** Verb that waits for a decision. */
import { UsageError } from "../exit.ts";
import type { Verb } from "../verb.ts";

/** Waits until a change is decided. */
export const wait: Verb = {
  usage: "wait <change_id>",
  operation: "GET /api/product/changes/{change_id}",
  summary: "Wait until a change is decided",
  options: { "--timeout <seconds>": "give up after this time; by default, never" },
  async run({ client }, { args: { change_id = "" }, options: { timeout } }) {
    const seconds = timeout === undefined ? Infinity : Number(timeout);
    if (!(seconds >= 0) || timeout === "") throw new UsageError(`--timeout is a number of seconds, not ${timeout}`);
    const signal = seconds * 1000 <= MAX_TIMER_MS ? AbortSignal.timeout(Math.ceil(seconds * 1000)) : undefined;
    try {
      const { status, resolution } = await client.waitForDecision(change_id, { signal });
      const isApproved = status === "approved" || status === "applied";
      return { text: `${change_id}  ${resolution ?? status}`, exit: isApproved ? "done" : "denied" };
    } catch (error) {
      if (!signal?.aborted) throw error;
      return { text: `${change_id}  not decided within ${seconds} s`, exit: "waiting" };
    }
  },
};

/** Maximum of Node's timers, some 25 days; with a longer timeout, the verb never gives up. */
const MAX_TIMER_MS = 2 ** 31 - 1;
