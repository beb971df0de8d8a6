/** Limits of an agent's open changes and daily proposals, counted within the transaction of a proposal. */
import { AppError } from "../kit/errors.ts";
import { formatAgentKey } from "./records.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import { normalizeName } from "./rules/names.ts";
import { findAgentLimits } from "./rules/principals.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Finds the limit that an agent has reached: of open changes, or of proposals on this UTC day, where each entry of a plan counts.
 * Returns the error 429 `too_many_open`.
 */
export async function findReachedLimit(
  { tx, at, now, product }: Transaction,
  agent: string,
  input: ChangeEntry,
): Promise<AppError | undefined> {
  const { max_open, max_per_day } = findAgentLimits(agent, product.intent);
  const open = await tx.list("live_by_agent", {
    prefix: formatAgentKey(agent),
    // `max_open` may be 0, and a list needs a positive limit.
    limit: Math.max(1, max_open),
    keysOnly: true,
  });
  if (open.length >= max_open)
    return createLimitError(
      "max_open",
      max_open,
      `${agent} has ${max_open} changes that wait; have some decided, or withdraw them`,
    );
  const today = await countProposedToday(tx, agent, at);
  if (today + listEntries(input).length <= max_per_day) return undefined;
  const seconds = Math.max(1, Math.ceil((findNextDay(at) - now) / 1000));
  return createLimitError(
    "max_per_day",
    max_per_day,
    `${agent} may propose ${max_per_day} changes a UTC day, and has proposed ${today} on this one`,
    seconds,
  );
}

export async function countProposal({ tx, at }: Transaction, agent: string, input: ChangeEntry): Promise<void> {
  const count = (await countProposedToday(tx, agent, at)) + listEntries(input).length;
  tx.put("proposed_by_agent", normalizeName(agent), { day: at.slice(0, 10), count });
}

async function countProposedToday(tx: Transaction["tx"], agent: string, at: string): Promise<number> {
  const dayCount = (await tx.get("proposed_by_agent", normalizeName(agent)))?.value;
  return dayCount?.day === at.slice(0, 10) ? dayCount.count : 0;
}

const findNextDay = (at: string): number => Date.parse(`${at.slice(0, 10)}T00:00:00.000Z`) + 24 * 3_600_000;

const createLimitError = (limit: string, max: number, message: string, seconds?: number): AppError =>
  new AppError(
    "too_many_open",
    message,
    { limit, max },
    seconds === undefined ? {} : { "retry-after": String(seconds) },
  );
