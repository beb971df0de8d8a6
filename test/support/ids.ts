import type { Ids } from "../../lib/kit/platform.ts";

/** Valid UUIDv7s that count upwards, whatever the clock says. */
export function countedIds(): Ids {
  let made = 0;
  return { uuid: () => `00000000-0000-7000-8000-${(++made).toString(16).padStart(12, "0")}` };
}
