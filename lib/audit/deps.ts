import type { RequestCache } from "../kit/request_cache.ts";
import type { KeyedMutex } from "../kit/keyed_mutex.ts";
import type { Clock, Ids, Log, Sha256 } from "../kit/platform.ts";
import type { Store } from "../store/store.ts";
import type { Integrity } from "./integrity.ts";

/** What the log needs. */
export interface AuditDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** What is known of the chain's soundness; writes are refused when it is broken. */
  integrity: Integrity;
  /** What is named alike waits for its turn here. */
  mutex: KeyedMutex;
  /** What the parts of one answer share; absent where each looks for itself. */
  requestCache?: RequestCache | undefined;
}
