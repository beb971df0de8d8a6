/** A month of a product's life; README.md next to this file tells its story. */
import { type Month, openMonth } from "./acts.ts";
import { november } from "./november.ts";
import { october } from "./october.ts";

/** Plays it and returns the open service as it stands on Monday, 16 November 2026, 09:30 UTC, with the ledger. */
export async function simulatedMonth(): Promise<Month> {
  const month = await openMonth();
  await october(month);
  await november(month);
  return month;
}

let kept: Promise<Month> | undefined;

/** The month for tests that only read it: files that run in one worker share it. */
export const monthToRead = (): Promise<Month> => (kept ??= simulatedMonth());
