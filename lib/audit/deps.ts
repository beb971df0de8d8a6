import type { RequestCache } from "../kit/request_cache.ts";
import type { KeyedMutex } from "../kit/keyed_mutex.ts";
import type { Clock, Ids, Log, Sha256 } from "../kit/platform.ts";
import type { Store } from "../store/store.ts";
import type { Integrity } from "./integrity.ts";

/** Dependencies of the log. */
export interface AuditDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** Known soundness of the chain; writes are rejected when it is broken. */
  integrity: Integrity;
  /** Runs work under the same name one after the other. */
  mutex: KeyedMutex;
  /** Reads that the parts of one answer share; absent where each reads for itself. */
  requestCache?: RequestCache | undefined;
}
