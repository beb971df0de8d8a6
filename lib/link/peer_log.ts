/**
 * Compares the reported state of a peer's audit log with the state that this node stored. A log can only grow, so a stored
 * checkpoint shows when the log was shortened or rewritten.
 */
import { parseCheckpoint } from "../audit/checkpoint.ts";
import { hexBytes } from "../audit/merkle.ts";
import { decodeBase64 } from "../kit/base64.ts";
import { isConsistent } from "../audit/consistency.ts";
import type { AcceptedLoss, CheckpointAnswer } from "./messages.ts";

export const LOG_STATES = ["consistent", "lost", "rewritten", "unknown"] as const;
export type LogState = (typeof LOG_STATES)[number];

/** The newest accepted state of a peer's log. */
export interface StoredLog {
  origin: string;
  length: number;
  head: string;
  /** The checkpoint's note, and its Merkle root as hex; `null` if the peer makes no checkpoints. */
  checkpoint: string | null;
  root: string | null;
  at: string;
}

/**
 * Result of a comparison. `reference` is the state to compare the next report with; it does not change when the log was rewritten.
 * `lost`: the log does not continue the stored state, but an entry of it states that a person accepted the loss of its end.
 */
export interface Judgement {
  log: LogState;
  reason: string | null;
  reference: StoredLog | null;
}

/** Compares the reported state of a peer's log with the stored one; without a stored state the result is `unknown`. */
export function judgeLog(stored: StoredLog | null, reported: CheckpointAnswer, at: string): Judgement {
  const judgeUnproven = (reason: string): Judgement => ({ log: "unknown", reason, reference: stored });
  const note = reported.checkpoint === null ? null : parseCheckpoint(reported.checkpoint);
  if (reported.checkpoint !== null && (note?.origin !== reported.origin || note.length !== reported.length))
    return judgeUnproven("the checkpoint does not state the log's origin and length");
  const newer: StoredLog = {
    origin: reported.origin,
    length: reported.length,
    head: reported.head,
    checkpoint: reported.checkpoint,
    root: note?.root ?? null,
    at,
  };
  if (!stored) return { log: "unknown", reason: "this is the first account of the log", reference: newer };
  const judgeRewritten = (reason: string): Judgement => ({ log: "rewritten", reason, reference: stored });
  if (reported.origin !== stored.origin)
    return judgeRewritten(`the log was ${stored.origin} and is now ${reported.origin}`);
  const judgeDifference = (reason: string): Judgement => {
    const loss = explainLoss(stored, reported);
    if (loss === undefined) return judgeRewritten(reason);
    return { log: "lost", reason: `${reason}; ${loss}`, reference: newer };
  };
  if (reported.length < stored.length)
    return judgeDifference(`the log had ${stored.length} entries and now has ${reported.length}`);
  const sameLength = reported.length === stored.length;
  if (sameLength && reported.head !== stored.head)
    return judgeDifference(`the log has another entry ${stored.length} than before`);
  // `head_at_from`: the head that the peer's log had at the stored length, which this node requested.
  if (reported.head_at_from !== null && reported.head_at_from !== stored.head)
    return judgeDifference(`entry ${stored.length} of the log is not the one that was there`);
  if (stored.root !== null) {
    if (newer.root === null) return judgeUnproven("the peer gave checkpoints before and gives none now");
    if (!isGrowthProven(stored, newer, reported.proof ?? []))
      return judgeDifference(`the proof from ${stored.length} to ${reported.length} entries does not hold`);
    return { log: "consistent", reason: null, reference: newer };
  }
  if (sameLength || stored.length === 0 || reported.head_at_from !== null)
    return { log: "consistent", reason: null, reference: newer };
  return { log: "unknown", reason: "the log grew, and the peer does not tell its earlier head", reference: newer };
}

/** Describes the accepted loss in the peer's log that explains the difference; undefined if there is none. */
function explainLoss(stored: StoredLog, { loss, length }: CheckpointAnswer): string | undefined {
  if (!loss || loss.entry > length || !coversLength(loss, stored.length)) return undefined;
  // At the same length, the lost end must be the stored end.
  const isOtherHead = loss.known_head !== null && loss.known_head !== stored.head;
  if (loss.known === stored.length && isOtherHead) return undefined;
  return `its entry ${loss.entry} states that ${loss.actor} accepted the loss of what came after entry ${loss.length}`;
}

/** Returns whether the end of a log of this length is among the lost entries. */
const coversLength = (loss: AcceptedLoss, length: number): boolean =>
  loss.length < loss.entry && loss.length < length && length <= loss.known;

function isGrowthProven(stored: StoredLog, newer: StoredLog, proof: readonly string[]): boolean {
  const path = proof.map((hash) => decodeBase64(hash));
  if (!path.every((hash) => hash?.length === 32)) return false;
  return isConsistent(stored.length, hexBytes(stored.root!), newer.length, hexBytes(newer.root!), path as Uint8Array[]);
}
