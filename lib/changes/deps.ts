import type { AuditDeps } from "../audit/deps.ts";
import type { CommitSignal } from "../kit/commit_signal.ts";
import type { Reader } from "./rules/reader.ts";
import type { ProductRuntime } from "./runtime.ts";

/** Dependencies of the core. */
export interface ChangesDeps extends AuditDeps {
  /** Absent: the product runtime is off, and its endpoints answer 503. */
  product?: ProductRuntime | undefined;
  /** Names this process as the owner of the operations it runs on the host product. */
  owner: string;
  /** Signalled after every commit of this process. */
  commits?: CommitSignal | undefined;
  /** How long a request may wait for something to happen, in seconds, where the host answers sooner than a minute. */
  maxWaitSeconds?: number | undefined;
  /** This process lasts, so that what it saw of target systems counts for what its cycle restores. */
  longLived?: boolean | undefined;
  /** Limits a request to the changes that its caller may read; absent: all. */
  reader?: Reader | undefined;
  /** Asks for a cycle soon, without waiting for it. */
  wake?: (() => void) | undefined;
}
