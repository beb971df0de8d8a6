/** Types of the knowledge that this process has about the log's integrity. */
import type { LogEnd, LogIndex } from "./log_index.ts";

/** The first entry at which the chain is broken, and the reason. */
export interface Breach {
  /** Id of the first invalid entry. */
  first_invalid: number;
  reason: string;
}

/** The last entry of the verified part of the chain. */
export interface ChainLink {
  length: number;
  head: string;
  at: string;
}

/** The end of the log before it was lost. */
export interface LostEnd {
  length: number;
  /** `null` if an unknown number of entries after `length` may be lost; `""` if only a checkpoint shows the end. */
  head: string | null;
  /** Merkle root of that checkpoint, hex. */
  root?: string;
}

/** An accepted loss, as its entry states it. */
export interface Loss {
  /** Id of the entry. */
  entry: number;
  at: string;
  actor: string;
  note: string;
  /** The end that was known before the loss, and the end after which the log continues. */
  known: LostEnd;
  continues: LogEnd;
  /** A sentence about the entries that may be lost. */
  message: string;
}

/** The verified part of the chain. */
export interface VerifiedChain extends ChainLink {
  origin: string;
  /** Its accepted losses, oldest first. */
  losses: readonly Loss[];
  breach?: Breach;
}

/** An end of the log, and the last accepted loss before it. */
export interface KnownEnd extends LogEnd {
  /** Timestamp of the last entry that a decision appended or was based on. */
  at: string;
  loss: LogEnd | undefined;
}

/** The chain's soundness as this process knows it. A breach stays until a restart finds it repaired, or its loss is accepted. */
export interface Integrity {
  breach?: Breach;
  /** Index of the log as this process has read it. */
  logIndex?: LogIndex;
  /** The end of the log that the last decision of this process committed or was based on. */
  knownEnd?: KnownEnd;
  /** The running verification; concurrent callers share it. */
  runningPass?: Promise<VerifiedChain>;
  /** The last successful verification, and the accepted loss at that time. `durationMs`: duration of the last complete pass. */
  lastPass?: { verified: VerifiedChain; loss: LogEnd | undefined; endedAtMs: number; durationMs: number };
  /** The verifier key of the last checkpoint that this process made; `null` for an unsigned one. */
  signing?: { key: string | null };
  /** True if a part of the stored tree is missing; the next cycle rebuilds the tree. */
  isTreeIncomplete?: boolean;
  /** Message if this process makes no checkpoints, since another process signs them with another key. */
  displaced?: string;
  /** Problem that prevents the verification of the log against its anchor. */
  anchor?: AnchorProblem;
}

/** A problem with an anchor. */
export interface AnchorProblem {
  reason: string;
  /** True if the anchor lost checkpoints; then no more are added, since they would hide the loss. */
  lost: boolean;
  at: string;
}
