import type { LogEnd, LogIndex } from "./log_index.ts";

/** First place where the chain is broken, and the reason. */
export interface Breach {
  /** The id of the first entry that does not hold. */
  first_invalid: number;
  reason: string;
}

/** The verified part of the chain: its last entry. */
export interface ChainLink {
  length: number;
  head: string;
  at: string;
}

/** The end of the log before it was lost. */
export interface LostEnd {
  length: number;
  /** `null` where entries after `length` may be lost and the number of them is not known. */
  head: string | null;
}

/** An accepted loss, as its entry states it. */
export interface Loss {
  /** Id of the entry. */
  entry: number;
  at: string;
  actor: string;
  note: string;
  /** The end that was known before, and the one that the log went on from. */
  known: LostEnd;
  continues: LogEnd;
  /** The entries that may be lost, in a sentence. */
  message: string;
}

/** The chain as far as it was checked. */
export interface VerifiedChain extends ChainLink {
  origin: string;
  /** Its accepted losses, the newest last. */
  losses: readonly Loss[];
  breach?: Breach;
}

/** An end of the log, and the last accepted loss before it. */
export interface KnownEnd extends LogEnd {
  /** Timestamp of the last entry that a decision committed or was made by. */
  at: string;
  loss: LogEnd | undefined;
}

/** The chain's soundness as this process knows it. A breach, once found, stays until a restart finds it repaired. */
export interface Integrity {
  breach?: Breach;
  /** Index of the log as this process has read it. */
  logIndex?: LogIndex;
  /** The end that a decision of this process committed or was made by last. */
  knownEnd?: KnownEnd;
  /** The pass under way, shared by all who ask. */
  runningPass?: Promise<VerifiedChain>;
  /** The last sound pass and the accepted loss before it, when it ended and how long a whole one took, in milliseconds. */
  lastPass?: { verified: VerifiedChain; loss: LogEnd | undefined; endedAtMs: number; durationMs: number };
  /** The verifier key under which this process made a checkpoint last, `null` for none. */
  signing?: { key: string | null };
  /** A proof found that a part of the stored tree is missing: the next cycle grows it again. */
  isTreeIncomplete?: boolean;
  /** Why this process makes no checkpoints: another one signs them with another key. */
  displaced?: string;
  /** Reason why the log cannot be verified against its anchor, and when that was found. */
  anchor?: AnchorProblem;
}

/** A problem with an anchor. */
export interface AnchorProblem {
  reason: string;
  /** It keeps less than it did: given more, it would look whole again. */
  lost: boolean;
  at: string;
}
