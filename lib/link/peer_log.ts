/**
 * A node's stored state of a peer's audit log, and its judgement of a newer one. A log can only grow: a node that stores
 * a checkpoint of it notices when it was cut or rewritten.
 */
import { parseCheckpoint } from "../audit/checkpoint.ts";
import { hexBytes } from "../audit/merkle.ts";
import { decodeBase64 } from "../kit/base64.ts";
import { isConsistent } from "../audit/consistency.ts";
import type { AcceptedLoss, CheckpointAnswer } from "./messages.ts";

export const LOG_STATES = ["consistent", "lost", "rewritten", "unknown"] as const;
export type LogState = (typeof LOG_STATES)[number];

/** The newest account of a peer's log that was accepted. */
export interface KeptLog {
  origin: string;
  length: number;
  head: string;
  /** The checkpoint's note, and the root it states as hex; `null` where the peer makes none. */
  checkpoint: string | null;
  root: string | null;
  at: string;
}

/**
 * `keep` is what to verify the next account against: a rewritten log leaves it as it was. `lost`: the log does not continue
 * what was stored, and states itself that a person accepted the loss of those entries.
 */
export interface Judgement {
  log: LogState;
  reason: string | null;
  keep: KeptLog | null;
}

/** Compares a peer's account of its log with the stored one; without anything to compare the result is not `consistent`. */
export function judgeLog(kept: KeptLog | null, told: CheckpointAnswer, at: string): Judgement {
  const unproven = (reason: string): Judgement => ({ log: "unknown", reason, keep: kept });
  const note = told.checkpoint === null ? null : parseCheckpoint(told.checkpoint);
  if (told.checkpoint !== null && (note?.origin !== told.origin || note.length !== told.length))
    return unproven("the checkpoint does not state the log's origin and length");
  const keep: KeptLog = {
    origin: told.origin,
    length: told.length,
    head: told.head,
    checkpoint: told.checkpoint,
    root: note?.root ?? null,
    at,
  };
  if (!kept) return { log: "unknown", reason: "this is the first account of the log", keep };
  const rewritten = (reason: string): Judgement => ({ log: "rewritten", reason, keep: kept });
  if (told.origin !== kept.origin) return rewritten(`the log was ${kept.origin} and is now ${told.origin}`);
  const differs = (reason: string): Judgement => {
    const lost = whyLost(kept, told);
    return lost === undefined ? rewritten(reason) : { log: "lost", reason: `${reason}; ${lost}`, keep };
  };
  if (told.length < kept.length) return differs(`the log had ${kept.length} entries and now has ${told.length}`);
  const sameLength = told.length === kept.length;
  if (sameLength && told.head !== kept.head) return differs(`the log has another entry ${kept.length} than before`);
  if (told.head_at_from !== null && told.head_at_from !== kept.head)
    return differs(`entry ${kept.length} of the log is not the one that was there`);
  if (kept.root !== null) {
    if (keep.root === null) return unproven("the peer gave checkpoints before and gives none now");
    if (!growthIsProven(kept, keep, told.proof ?? []))
      return differs(`the proof from ${kept.length} to ${told.length} entries does not hold`);
    return { log: "consistent", reason: null, keep };
  }
  if (sameLength || kept.length === 0 || told.head_at_from !== null) return { log: "consistent", reason: null, keep };
  return { log: "unknown", reason: "the log grew, and the peer does not tell its earlier head", keep };
}

/** The sentence that the log itself states about the loss of what was stored; undefined where it states no such loss. */
function whyLost({ length, head }: KeptLog, { loss, length: now }: CheckpointAnswer): string | undefined {
  if (!loss || loss.entry > now || !covers(loss, length)) return undefined;
  if (loss.known === length && loss.known_head !== null && loss.known_head !== head) return undefined;
  return `its entry ${loss.entry} states that ${loss.actor} accepted the loss of what came after entry ${loss.length}`;
}

const covers = (loss: AcceptedLoss, length: number): boolean =>
  loss.length < loss.entry && loss.length < length && length <= loss.known;

function growthIsProven(kept: KeptLog, now: KeptLog, proof: readonly string[]): boolean {
  const path = proof.map((hash) => decodeBase64(hash));
  if (!path.every((hash) => hash?.length === 32)) return false;
  return isConsistent(kept.length, hexBytes(kept.root!), now.length, hexBytes(now.root!), path as Uint8Array[]);
}
