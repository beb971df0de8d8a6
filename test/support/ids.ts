import type { Ids } from "../../lib/kit/platform.ts";

/** Returns a source of valid UUIDv7s that count upwards and do not depend on the clock. */
export function countedIds(): Ids {
  let count = 0;
  return { uuid: () => `00000000-0000-7000-8000-${(++count).toString(16).padStart(12, "0")}` };
}
