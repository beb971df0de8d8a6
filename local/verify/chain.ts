/** Verifies the hash chain line by line. */
import { type Entry, hasHashes, isContentLine, parseLine } from "./line.ts";

/** A rule that a line, or the complete log, violates. */
export type Rule =
  | "form"
  | "origin"
  | "id"
  | "previous_hash"
  | "timestamp"
  | "current_hash"
  | "tail_truncation"
  | "full_rewrite"
  | "signature"
  | "cosignature"
  | "proof"
  | "inclusion"
  | "content"
  | "intent"
  | "quorum";

/** A violated rule; `line` and `entry` are null where the finding is about the complete log. */
export interface Finding {
  line: number | null;
  entry: number | null;
  rule: Rule;
  message: string;
}

/** State of the chain after some lines. Text has one character for each byte. */
export interface Chain {
  lines: number;
  origin: string | undefined;
  /** The entry that the next line continues; undefined after a line that could not be read. */
  last: { id: number; hash: string; timestamp: string } | undefined;
  /** The entry of the last line; undefined where that line is no entry. */
  entry?: Entry | undefined;
}

const NO_ENTRY = "the line is not an entry in the exact form that the service writes";
const CONTENT = "the line is the content of a change or an intent: verify an export with contents with --changes";

/** The chain before its first entry. */
export const emptyChain = (): Chain => ({
  lines: 0,
  origin: undefined,
  last: { id: 0, hash: "0".repeat(64), timestamp: "" },
});

/**
 * Verifies the next line, and moves `chain` past it. After a broken line the chain continues from the values which that line
 * states, so that one fault is reported once.
 */
export function verifyLine(chain: Chain, line: string): Finding | undefined {
  const number = ++chain.lines;
  const entry = parseLine(line);
  const { last } = chain;
  chain.entry = entry;
  if (!entry || !hasHashes(entry)) {
    chain.last = undefined;
    return { line: number, entry: null, rule: "form", message: isContentLine(line) ? CONTENT : NO_ENTRY };
  }
  chain.origin ??= entry.origin;
  chain.last = { id: entry.id, hash: entry.currentHash, timestamp: entry.timestamp };
  const problem = findBreak(entry, chain.origin, last);
  return problem && { line: number, entry: entry.id, rule: problem[0], message: problem[1] };
}

function findBreak(entry: Entry, origin: string, last: Chain["last"]): [rule: Rule, message: string] | undefined {
  if (entry.origin !== origin)
    return ["origin", "its origin is not that of the first entry: it belongs to another log"];
  if (last && entry.id !== last.id + 1) return ["id", `the id after ${last.id} must be ${last.id + 1}`];
  if (last && entry.previousHash !== last.hash)
    return ["previous_hash", "it is not the current_hash of the previous entry"];
  // A person may accept that the clock was set back: this entry alone has an earlier time.
  if (last && entry.timestamp < last.timestamp && entry.eventType !== "clock_accepted")
    return ["timestamp", "it is earlier than that of the previous entry"];
  return entry.currentHash === entry.computedHash
    ? undefined
    : ["current_hash", "it is not the hash of the entry's fields"];
}
