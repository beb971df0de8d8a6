/**
 * Accepts the clock as it is, after entries were dated by a clock that was ahead. Its entry is the only one that is dated
 * before its predecessor.
 */
import { clockLag } from "../../audit/chain.ts";
import { AppError } from "../../kit/errors.ts";
import { type ServiceActionInput, authorizeServiceAction } from "../service_action.ts";
import type { Caller } from "../caller.ts";
import { shortenLeases } from "../operations/lease.ts";
import type { Receipt, ReplayedReply } from "../replies.ts";
import { runTransaction } from "../transaction.ts";

/** The time from which entries are dated now, and the time of the last entry before. */
export interface ClockResult extends Receipt {
  at: string;
  last: string;
}

/** Dates the following entries by the clock as it is. Errors: 400 `illegal_transition` if it is not behind the last entry. */
export const acceptClock = (caller: Caller, input: ServiceActionInput): Promise<ClockResult | ReplayedReply> =>
  runTransaction(
    caller,
    async (transaction) => {
      const { now, lastEntryAt: last, append } = transaction;
      const detail = await authorizeServiceAction(transaction, caller, "accept_clock", input);
      if (clockLag({ at: last }, now) <= 0)
        throw new AppError(
          "illegal_transition",
          "the clock is not behind the last audit entry: there is nothing to accept",
          { allowed: [] },
        );
      // Leases that were taken by the clock that was ahead would end too late.
      await shortenLeases(transaction);
      const at = new Date(now).toISOString();
      const entry = append({ event_type: "clock_accepted", detail: { ...detail, last } }, at);
      return { at, last, entry };
    },
    { ignoresClockLag: true },
  );
