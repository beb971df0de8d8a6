/** Portable defaults, so that a host application hands over only what is its own. */
import type { Deps } from "./deps.ts";
import { portableSha256, systemClock, type Log } from "./kit/platform.ts";
import { createKeyedMutex } from "./kit/keyed_mutex.ts";
import { risingIds } from "./kit/ids.ts";

const silent: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** Everything a handler needs; only the store has no default. */
export function createDeps(given: Partial<Deps> & Pick<Deps, "store">): Deps {
  return {
    clock: systemClock,
    ids: risingIds(),
    sha256: portableSha256,
    log: silent,
    integrity: {},
    mutex: createKeyedMutex(),
    owner: crypto.randomUUID(),
    ...given,
  };
}
