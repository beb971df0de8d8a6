/** Dependencies of commands and reads on changes. */
import type { AuditDeps } from "../audit/deps.ts";
import type { CommitSignal } from "../kit/commit_signal.ts";
import type { RestrictedReader } from "./rules/reader.ts";
import type { ProductRuntime } from "./runtime.ts";

export interface ChangesDeps extends AuditDeps {
  /** Absent: the product runtime is off, and its endpoints answer 503. */
  product?: ProductRuntime | undefined;
  /** Id of this process, which owns the leases of the operations that it runs. */
  owner: string;
  /** Signalled after every commit of this process. */
  commits?: CommitSignal | undefined;
  /** The longest wait of a request, in seconds, on a host that ends requests before a minute. */
  maxWaitSeconds?: number | undefined;
  /**
   * True for a process that runs many cycles and remembers the values that it read: a cycle restores an edited value only if this
   * process saw the value before the edit. Other processes never restore.
   */
  longLived?: boolean | undefined;
  /** Limits a request to the changes that its caller may read; absent: all. */
  reader?: RestrictedReader | undefined;
  /** Requests a cycle without waiting for it. */
  wake?: (() => void) | undefined;
}
