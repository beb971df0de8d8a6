/** What the rooms declare that they need, joined, with the best default that each platform has. */
import { createKeyedMutex } from "./kit/keyed_mutex.ts";
import { risingIds } from "./kit/ids.ts";
import { consoleWarnings, fastestSha256, systemClock } from "./kit/platform.ts";
import type { LinkDeps } from "./link/deps.ts";

/** Everything any handler is given. Nothing is read from the environment behind its back. */
export interface Deps extends LinkDeps {}

/** What a service is given, with a default for all but the store. */
export function createDeps(given: Partial<Deps> & Pick<Deps, "store">): Deps {
  return {
    clock: systemClock,
    ids: risingIds(),
    sha256: fastestSha256(),
    log: consoleWarnings,
    integrity: {},
    mutex: createKeyedMutex(),
    owner: crypto.randomUUID(),
    ...given,
  };
}
