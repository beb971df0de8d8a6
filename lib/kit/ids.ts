/** UUIDv7s in strictly rising order. */
import { v7 } from "uuid";
import type { Ids } from "./platform.ts";

/** Ids whose random bytes are generated together, since one call costs as much as the rest of an id. */
const IDS_PER_POOL = 256;
/** The sequence of a UUIDv7 has 32 bits here. */
const SEQUENCE_END = 0x1_0000_0000;

/**
 * Creates a generator of rising ids. Within one millisecond, and after the clock was set back, it continues the sequence of the
 * latest moment.
 */
export function risingIds(random: () => number = Math.random): Ids {
  const pool = new Uint8Array(IDS_PER_POOL * 16);
  let used = pool.length;
  let moment = -1;
  let sequence = 0;

  const randomBytes = (): Uint8Array => {
    if (used === pool.length) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    return pool.subarray(used, (used += 16));
  };

  return {
    uuid(now) {
      if (now > moment) {
        moment = now;
        // The lower half leaves room for two thousand million further ids.
        sequence = Math.floor(random() * (SEQUENCE_END / 2));
      } else if (++sequence === SEQUENCE_END) {
        // The ids still rise, although their time is then ahead of the clock.
        moment++;
        sequence = 0;
      }
      return v7({ msecs: moment, seq: sequence, random: randomBytes() });
    },
  };
}
