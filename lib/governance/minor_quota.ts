/** How many minor changes were granted on a day, as the log tells it: no counter beside it can be set back. */
import type { Evidence } from "./evidence.ts";
import { detailIn } from "./rules/event.ts";

/** The minor changes of a moment's UTC day so far. */
export async function minorToday({ minorSince }: Evidence, at: string): Promise<number> {
  let seen = 0;
  const next = minorSince(`${at.slice(0, 10)}T00:00:00.000Z`);
  for (let entry; (entry = await next());) {
    const { minor_number } = detailIn(entry.detail);
    // An entry of an earlier version has no number: then they are counted.
    if (minor_number !== undefined) return seen + minor_number;
    seen++;
  }
  return seen;
}
