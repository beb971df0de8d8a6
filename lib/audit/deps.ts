/** Dependencies of the audit log. */
import type { RequestCache } from "../kit/request_cache.ts";
import type { KeyedMutex } from "../kit/keyed_mutex.ts";
import type { Clock, Ids, Log, Sha256 } from "../kit/platform.ts";
import type { Store } from "../store/store.ts";
import type { Integrity } from "./integrity.ts";

export interface AuditDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** Knowledge of this process about the log's integrity; writes are rejected when the chain is broken. */
  integrity: Integrity;
  /** Runs work with the same name one after another. */
  mutex: KeyedMutex;
  /** Reads that the parts of one answer share; absent if they are not shared. */
  requestCache?: RequestCache | undefined;
}
