/** Counts the minor changes granted on a day from the log, so that no separate counter can be reset. */
import type { Evidence } from "./evidence.ts";
import { findNewestOnDay } from "./newest_on_day.ts";
import { parseDetail } from "./rules/event.ts";

/** Counts the minor changes of a moment's UTC day so far. */
export async function countMinorToday({ walkMinorSince }: Evidence, at: string): Promise<number> {
  const newest = await findNewestOnDay(at, walkMinorSince);
  return newest ? parseDetail(newest.detail).minor_number! : 0;
}
