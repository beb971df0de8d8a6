import type { RefoldMemory } from "../governance/reconcile.ts";
import type { Verified } from "./verify.ts";

/** Where the chain first fails to hold, and how. */
export interface Breach {
  /** The id of the first entry that does not hold. */
  first_invalid: number;
  reason: string;
}

/** What this process knows of the chain's soundness. A breach, once found, stays until a restart finds it mended. */
export interface Integrity {
  breach?: Breach;
  /** The pass under way, shared by all who ask. */
  running?: Promise<Verified>;
  /** The last sound pass, when it ended and how long a whole one took, in milliseconds. */
  last?: { verified: Verified; ended: number; took: number };
  /** The comparison of the changes with the log. */
  refold?: RefoldMemory;
}
