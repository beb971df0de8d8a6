/**
 * The way back where entries were dated by a clock that was ahead: a person puts up with the clock as it is now. Theirs is the
 * one entry that is dated before the one before it.
 */
import { clockLag } from "../audit/chain.ts";
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError } from "../kit/errors.ts";
import { type ActInput, actFacts } from "./act.ts";
import type { ChangesDeps } from "./deps.ts";
import { endLongLeases } from "./operations/lease.ts";
import { governed } from "./transaction.ts";

/** Dates what follows by the clock as it is; 400 `illegal_transition` where it is not behind the last entry. */
export function acceptClock(call: Call<ChangesDeps>, input: ActInput): Promise<Answer> {
  return governed(
    call,
    async (transaction) => {
      const { now, last, append } = transaction;
      const detail = await actFacts(transaction, call, "accept_clock", input);
      if (clockLag({ at: last }, now) <= 0)
        throw new AppError(
          "illegal_transition",
          "the clock is not behind the last audit entry: there is nothing to accept",
          { allowed: [] },
        );
      await endLongLeases(transaction);
      const at = new Date(now).toISOString();
      const entry = append({ event_type: "clock_accepted", detail: { ...detail, last } }, at);
      return answer({ at, last, audit_entry: entry });
    },
    { anyClock: true },
  );
}
