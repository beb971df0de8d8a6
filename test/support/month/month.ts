/** A simulated month of a product; README.md in this folder describes it day by day. */
import { type Month, openMonth } from "./acts.ts";
import { november } from "./november.ts";
import { october } from "./october.ts";

/** Plays the month, and returns the open service on Monday, 16 November 2026, 09:30 UTC, with the ledger. */
export async function simulatedMonth(): Promise<Month> {
  const month = await openMonth();
  await october(month);
  await november(month);
  return month;
}

let cachedMonth: Promise<Month> | undefined;

/** The month for tests that only read it: files that run in one worker share it. */
export const sharedMonth = (): Promise<Month> => (cachedMonth ??= simulatedMonth());
