/** Reads from the log how many minor changes were granted on a day: a separate counter could be reset. */
import type { Evidence } from "./evidence.ts";
import { findNewestOnDay } from "./newest_on_day.ts";
import { parseDetail } from "./rules/event.ts";

/** Counts the minor changes of a moment's UTC day so far: the newest one records their number. */
export async function countMinorToday({ walkMinorSince }: Evidence, at: string): Promise<number> {
  const newest = await findNewestOnDay(at, walkMinorSince);
  return newest ? parseDetail(newest.detail).minor_number! : 0;
}
