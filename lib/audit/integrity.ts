import type { Outline } from "./outline.ts";

/** Where the chain first fails to hold, and how. */
export interface Breach {
  /** The id of the first entry that does not hold. */
  first_invalid: number;
  reason: string;
}

/** What holds up to which entry. */
export interface Link {
  length: number;
  head: string;
  at: string;
}

/** The chain as far as it was checked. */
export interface Verified extends Link {
  origin: string;
  breach?: Breach;
}

/** What this process knows of the chain's soundness. A breach, once found, stays until a restart finds it mended. */
export interface Integrity {
  breach?: Breach;
  /** What this process has read of the log. */
  outline?: Outline;
  /** The pass under way, shared by all who ask. */
  running?: Promise<Verified>;
  /** The last sound pass, when it ended and how long a whole one took, in milliseconds. */
  last?: { verified: Verified; ended: number; took: number };
  /** The verifier key under which this process made a checkpoint last, `null` for none. */
  signing?: { key: string | null };
  /** Why this process makes no checkpoints: another one signs them with another key. */
  displaced?: string;
  /** Why the log cannot be held against its anchor as it should be, and when that was found. */
  anchor?: AnchorProblem;
}

/** What is wrong with an anchor. */
export interface AnchorProblem {
  reason: string;
  /** It keeps less than it did: given more, it would look whole again. */
  lost: boolean;
  at: string;
}
